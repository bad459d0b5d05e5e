// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore
import TurnpikeStackFiles

struct ExecLine {
    let request: ExecRequest
    let reading: ExecReading
    let cancelAfter: Duration?
    let repetitions: Int
    let concurrency: Int
    let stagger: Duration

    static func answer(_ line: Data, _ clients: ExecClients) async -> JSONValue {
        var id = JSONValue.null
        do {
            let value: JSONValue
            do {
                value = try JSONValue(parsing: line)
            } catch {
                throw ClientError(.configuration, "the line is not JSON: \(error)")
            }
            guard let object = value.object else {
                throw ClientError(.configuration, "a line must be a JSON object")
            }
            id = object["id"]?.string.map(JSONValue.string) ?? .null
            // Mistakes in the request and in the client settings are reported together.
            let (line, name, source) = try Settings.read(object) { settings in
                _ = settings.value("id")
                let line = ExecLine(settings)
                let name = settings.string("client")
                let source = try clients.source(for: name, Self.clientParts(settings))
                settings.adopt(clients.check(source))
                return (line, name, source)
            }
            let client = try clients.client(named: name, from: source)
            let results = await line.run(with: client)
            if name == nil { await client.shutdown() }
            return Self.answer(id, results)
        } catch {
            return Self.answer(id, [ExecResult(failure: error).json])
        }
    }

    static func answer(tooLong maxBytes: Int) -> JSONValue {
        let error = ClientError(.configuration, "the line is longer than \(maxBytes) bytes")
        return answer(.null, [ExecResult(failure: error).json])
    }

    private static func answer(_ id: JSONValue, _ results: [JSONValue]) -> JSONValue {
        let failed = results.contains { $0["outcome"] == "error" }
        return ["id": id, "outcome": failed ? "error" : "response", "results": .array(results)]
    }

    private static func clientParts(_ settings: Settings) -> JSONObject {
        var parts = JSONObject()
        for key in ["baseURL", "transport", "stack", "shared"] {
            if let value = settings.value(key), value != .null { parts[key] = value }
        }
        return parts
    }

    private init(_ settings: Settings) {
        if let request = settings.object("request") {
            self.request = ExecRequest(request, options: settings.object("options"))
            request.finish()
        } else {
            settings.issue(at: "request", "is missing; expected an object")
            self.request = ExecRequest()
        }
        reading = ExecReading(settings)
        cancelAfter = settings.optionalSeconds("cancelAfter", orZero: true)
        repetitions = settings.int("repeat", default: 1, in: 1...1_000_000)
        concurrency = settings.int("concurrency", default: 1, in: 1...10_000)
        stagger = settings.seconds("stagger", default: .zero, orZero: true)
    }

    private func run(with client: Client) async -> [JSONValue] {
        let begin = ContinuousClock.now
        var results = [JSONValue](repeating: .null, count: repetitions)
        await withTaskGroup(of: (Int, JSONValue).self) { group in
            for index in 0..<repetitions {
                if index >= concurrency, let (done, result) = await group.next() {
                    results[done] = result
                }
                if stagger > .zero {
                    // A cancellation ends the wait. The other exchanges report the cancellation.
                    try? await ContinuousClock().sleep(until: begin + stagger * index)
                }
                group.addTask { (index, await once(index, client)) }
            }
            for await (done, result) in group { results[done] = result }
        }
        return results
    }

    private func once(_ index: Int, _ client: Client) async -> JSONValue {
        // Awaited below; the timer or the cancellation of the line cancels the task.
        let exchange = Task {
            // This cancellation comes first, because a timer might fire after the request was sent.
            if cancelAfter == .zero { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            return await ExecExchange(request: request, reading: reading).run(index, client)
        }
        let timer = cancelAfter.map { SystemTimeSource().schedule(after: $0) { exchange.cancel() } }
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await exchange.value.json
        } onCancel: {
            exchange.cancel()
        }
    }
}

struct ExecResult: Sendable {
    let json: JSONValue

    init(_ observed: ExecObservation, value: JSONValue?, error: (any Error)?) {
        var members: [(String, JSONValue)] = [("outcome", error == nil ? "response" : "error")]
        members += observed.members(of: error)
        if let value { members.append(("value", value)) }
        if let error { members.append(("error", Self.describe(error))) }
        json = .object(JSONObject(members))
    }

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
