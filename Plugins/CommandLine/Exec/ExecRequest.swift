// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore
import TurnpikeStackFiles

struct ExecRequest: Sendable {
    private var method = HTTPMethod.get
    private var url = ""
    private var query = Query([])
    private var headers: [(name: String, value: String)] = []
    private var pathParameters: [String: String] = [:]
    private var body = RequestBody.empty
    private var timeout: Duration?
    private var limits: Limits.Bounds?
    private var isRetryable = false

    init() {}

    init(_ settings: Settings, options: Settings?) {
        method = HTTPMethod(settings.string("method") ?? "GET")
        url = settings.required("url")
        query = Self.query(settings)
        headers = Self.pairs(settings, "headers")
        pathParameters = Self.parameters(settings)
        body = ExecBody.body(settings)
        guard let options else { return }
        timeout = options.optionalSeconds("timeout", orZero: true)
        isRetryable = options.bool("retryable", default: false)
        if let inner = options.object("limits") {
            limits = Limits.Bounds(inner)
            inner.finish()
        }
        options.finish()
    }

    func call(_ index: Int, _ client: Client) -> Call {
        let url = Self.numbered(url, index)
        let target = pathParameters.isEmpty ? Target(url) : Target.path(url, pathParameters)
        var headers = HTTPHeaders()
        for (name, value) in self.headers {
            headers.append(HTTPHeaders.Name(name), Self.numbered(value, index))
        }
        var call = client.request(method, target, query: query, headers: headers, body: body)
        if let timeout { call = call.deadline(timeout) }
        if let limits { call = call.limits(limits) }
        return isRetryable ? call.retryable() : call
    }

    // Replaces scalars, because a brace and a combining mark would form one character.
    private static func numbered(_ text: String, _ index: Int) -> String {
        String(
            text.unicodeScalars.replacing(
                "{i}".unicodeScalars, with: String(index).unicodeScalars))
    }

    // The call reports invalid names and values, which are no mistakes in the line.
    private static func pairs(_ settings: Settings, _ key: String) -> [(
        name: String, value: String
    )] {
        (settings.list(key) ?? []).enumerated().compactMap { index, pair in
            if let name = pair[0]?.string, let value = pair[1]?.string, pair.array?.count == 2 {
                return (name, value)
            }
            settings.issue(at: "\(key)[\(index)]", "expected a pair [name, value]")
            return nil
        }
    }

    private static func query(_ settings: Settings) -> Query {
        switch settings.value("query") {
        case nil, .null: return Query([])
        case .object(let object):
            return Query(object.flatMap { items($0.name, $0.value, settings) })
        default: return Query(pairs(settings, "query").map { Query.Item($0.name, $0.value) })
        }
    }

    // A list becomes one item for each value, as in a query literal in Swift.
    private static func items(
        _ name: String, _ value: JSONValue, _ settings: Settings
    ) -> [Query.Item] {
        let values = value.array ?? [value]
        if values.contains(where: { $0.array != nil || $0.object != nil }) {
            settings.issue(
                at: "query.\(name)",
                "expected a string, a number, true, false, null, or an array of these")
            return []
        }
        return values.map { Query.Item(name, text($0)) }
    }

    private static func text(_ value: JSONValue) -> String? {
        value == .null ? nil : value.string ?? value.description
    }

    private static func parameters(_ settings: Settings) -> [String: String] {
        guard let value = settings.value("pathParameters"), value != .null else { return [:] }
        guard let object = value.object else {
            settings.issue(at: "pathParameters", "expected an object")
            return [:]
        }
        return Dictionary(object.map { ($0.name, text($0.value) ?? "") }, uniquingKeysWith: { $1 })
    }
}
