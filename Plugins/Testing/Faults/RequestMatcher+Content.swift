// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
import TurnpikeSupport

/// Conditions on the host, the query, the header fields and the content of a request.
///
/// ```swift
/// .on(.post, "/users", where: [.header(.contentType, "application/json"), .json("name", "Ada")], …)
/// ```
extension RequestMatcher {
    /// Matches a host with any port.
    public static func host(_ host: String) -> Self {
        Self("host \(host)") { request, _ in
            let found = request.origin?.host ?? "none"
            return Grammar.equalsIgnoringCase(found, host)
                ? nil : "the host is \(found), not \(host)"
        }
    }

    /// Matches a query item with this value, or with any value if nil.
    public static func query(_ name: String, _ value: String? = nil) -> Self {
        Self("query \(name)") { request, _ in
            let components = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
            let found = (components?.queryItems ?? []).filter {
                Grammar.areSame($0.name, name)
            }
            if found.isEmpty { return "the query has no \(name)" }
            guard let value, !found.contains(where: { Grammar.areSame($0.value, value) })
            else { return nil }
            return "the query's \(name) has another value"
        }
    }

    /// Matches a header field with this value, or with any value if nil.
    public static func header(_ name: HTTPHeaders.Name, _ value: String? = nil) -> Self {
        Self("header \(name)") { request, _ in
            let found = request.headers.values(of: name)
            if found.isEmpty { return "there is no header \(name)" }
            guard let value, !found.contains(where: { Grammar.areSame($0, value) })
            else { return nil }
            let fields = request.headers.filter { $0.name == name }
            return "the header is “\(fields.map(\.description).joined(separator: "; "))”"
        }
    }

    /// Matches content with exactly these bytes.
    public static func body(_ data: Data) -> Self {
        Self("\(data.count) bytes of content") { _, body in
            if body == data { return nil }
            let same = zip(body, data).prefix { $0 == $1 }.count
            return "the content of \(body.count) bytes differs from byte \(same) on"
        }
    }

    /// Matches JSON content that equals a value, except for whitespace and the order of members.
    public static func json(_ value: JSONValue) -> Self {
        Self("JSON content") { _, body in
            guard let found = try? JSONValue(parsing: body) else { return "it is not JSON" }
            return difference(found, value, at: "$").map { "the content differs at \($0)" }
        }
    }

    /// Matches JSON content whose member at a path, such as `items.0`, equals a value.
    public static func json(_ path: String, _ value: JSONValue) -> Self {
        Self("JSON content with \(path)") { _, body in
            guard let whole = try? JSONValue(parsing: body) else { return "it is not JSON" }
            let steps = path.unicodeScalars.split(separator: ".").map { String(Substring($0)) }
            let found = steps.reduce(Optional(whole)) { value, step in
                Int(step).flatMap { value?[$0] } ?? value?[step]
            }
            guard let found else { return "the content has nothing at \(path)" }
            return difference(found, value, at: path).map { "the content differs at \($0)" }
        }
    }

    // Returns only the path, because the value may be a secret.
    private static func difference(
        _ found: JSONValue, _ wanted: JSONValue, at path: String
    ) -> String? {
        switch (found, wanted) {
        case (.object(let found), .object(let wanted)):
            for member in wanted {
                let place = "\(path).\(member.name)"
                guard let other = found[member.name] else { return "\(place), which is missing" }
                if let place = difference(other, member.value, at: place) { return place }
            }
            let surplus = found.first { wanted[$0.name] == nil }
            return surplus.map { "\(path).\($0.name), which is unexpected" }
        case (.array(let found), .array(let wanted)):
            for (index, pair) in zip(found, wanted).enumerated() {
                if let place = difference(pair.0, pair.1, at: "\(path)[\(index)]") { return place }
            }
            return found.count == wanted.count
                ? nil : "\(path), which has \(found.count) items, not \(wanted.count)"
        default: return found == wanted ? nil : path
        }
    }
}
