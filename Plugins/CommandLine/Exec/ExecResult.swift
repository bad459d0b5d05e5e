// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore

/// The result of one exchange in the output of `exec`.
struct ExecResult: Sendable {
    let json: JSONValue

    /// Creates the result of an exchange.
    init(_ observed: ExecObservation, value: JSONValue?, error: (any Error)?) {
        var members: [(String, JSONValue)] = [("outcome", error == nil ? "response" : "error")]
        members += observed.members(of: error)
        if let value { members.append(("value", value)) }
        if let error { members.append(("error", Self.describe(error))) }
        json = .object(JSONObject(members))
    }

    /// Creates the result of a line without an exchange.
    init(failure: any Error) {
        json = ["outcome": "error", "attempts": 0, "error": Self.describe(failure)]
    }

    private static func describe(_ error: any Error) -> JSONValue {
        let code: String
        var message = ""
        var cause: String?
        var retryAfter: Duration?
        switch error {
        case let error as ClientError:
            code = error.code.rawValue
            message = error.shownMessage
            cause = error.shownCause
            retryAfter = error.retryAfter
        case is CancellationError:
            code = ClientError.Code.cancelled.rawValue
            message = "the task was cancelled"
        default:
            code = "plugin"
            message = Redaction.standard.text(String(describing: error))
        }
        var described: JSONObject = [
            "code": .string(code), "message": .string(message),
            "underlying": cause.map(JSONValue.string) ?? .null,
        ]
        if let seconds = retryAfter.flatMap({ JSONNumber($0 / .seconds(1)) }) {
            described["retryAfter"] = .number(seconds)
        }
        if let status = (error as? ClientError)?.proxyStatus {
            described["proxyStatus"] = .number(JSONNumber(status.code))
        }
        return .object(described)
    }
}

extension PropertyListValue {
    /// The value as JSON, with ISO 8601 dates and base64 bytes.
    var json: JSONValue {
        switch self {
        case .string(let value): .string(value)
        case .integer(let value): .number(JSONNumber(value))
        case .unsigned(let value): .number(JSONNumber(value))
        case .real(let value): JSONNumber(value).map(JSONValue.number) ?? .null
        case .bool(let value): .bool(value)
        case .date(let value): .string(value.formatted(.iso8601))
        case .data(let value): .string(value.base64EncodedString())
        case .array(let elements): .array(elements.map(\.json))
        case .dictionary(let members):
            .object(JSONObject(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) }))
        }
    }
}
