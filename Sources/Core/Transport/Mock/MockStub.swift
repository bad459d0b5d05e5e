// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The requests to which a ``MockTransport`` responds, and the responses.
///
/// ```swift
/// MockTransport([
///     .on(.get, "/users/{id}", .status(503), .ok(json: ["id": 1])),  // 503 once, then 200
///     .on(.post, "/users", .status(201)).once(),
///     .otherwise(.status(404)),
/// ])
/// ```
public struct MockStub: Sendable {
    private let matchers: [RequestMatcher]
    private let responses: [MockResponse]
    private(set) var limit: Int?

    /// Creates a stub.
    /// - Parameters:
    ///   - matchers: The conditions. A request must satisfy all conditions.
    ///   - responses: The responses in order; the last response is repeated.
    public init(_ matchers: [RequestMatcher], responses: [MockResponse]) {
        self.matchers = matchers
        self.responses = responses
    }

    /// Creates a stub for requests that a closure selects.
    /// - Parameters:
    ///   - responses: The responses in order; the last response is repeated.
    ///   - matcher: Returns whether the stub responds to a request.
    public init(
        _ responses: [MockResponse], when matcher: @escaping @Sendable (Request) -> Bool
    ) {
        self.init([.where("a request that its closure accepts", matcher)], responses: responses)
    }

    /// Creates a stub for a method and a path.
    public static func on(
        _ method: HTTPMethod, _ path: PathPattern, where matchers: [RequestMatcher] = [],
        _ responses: MockResponse...
    ) -> MockStub {
        MockStub([.method(method), .path(path)] + matchers, responses: responses)
    }

    /// Creates a stub for all requests.
    public static func any(_ responses: MockResponse...) -> MockStub {
        MockStub([], responses: responses)
    }

    /// Creates a stub for requests that no other stub matches, which must be the last stub.
    public static func otherwise(_ response: MockResponse) -> MockStub {
        MockStub([], responses: [response])
    }

    /// Returns the same stub with at most one response.
    public func once() -> MockStub { times(1) }

    /// Returns the same stub with a maximum number of responses.
    public func times(_ count: Int) -> MockStub {
        var copy = self
        copy.limit = count
        return copy
    }

    var name: String {
        matchers.isEmpty ? "any request" : matchers.map(\.name).joined(separator: " ")
    }

    func mismatches(_ request: Request, body: Data) -> [String] {
        if responses.isEmpty { return ["it has no answer"] }
        return matchers.compactMap { $0.mismatch(request, body: body) }
    }

    /// Returns a score that prefers more matches and, with equal matches, fewer mismatches.
    func likeness(_ mismatches: [String]) -> Int {
        (matchers.count - mismatches.count) * 100 - mismatches.count
    }

    func response(at turn: Int) -> MockResponse { responses[min(turn, responses.count - 1)] }
}

/// A condition on a request; `TurnpikeTesting` has more conditions.
public struct RequestMatcher: Sendable {
    let name: String
    private let check: @Sendable (Request, Data) -> String?

    /// Creates a condition.
    /// - Parameters:
    ///   - name: The name of the condition in reports.
    ///   - mismatch: Returns the reason why a request with this content does not match, or nil if
    ///     the request matches.
    public init(
        _ name: String, mismatch: @escaping @Sendable (_ request: Request, _ body: Data) -> String?
    ) {
        self.name = name
        check = mismatch
    }

    /// Returns the reason why a request does not match, or nil if the request matches.
    public func mismatch(_ request: Request, body: Data = Data()) -> String? {
        check(request, body)
    }

    /// Matches requests for which a closure returns true.
    public static func `where`(
        _ name: String, _ condition: @escaping @Sendable (Request) -> Bool
    ) -> Self {
        Self(name) { request, _ in condition(request) ? nil : "it is not \(name)" }
    }

    /// Matches a method.
    public static func method(_ method: HTTPMethod) -> Self {
        Self("\(method)") { request, _ in
            request.method == method ? nil : "the method is \(request.method), not \(method)"
        }
    }

    /// Matches a path.
    public static func path(_ pattern: PathPattern) -> Self {
        Self("\(pattern)") { request, _ in
            let path = request.targetURI.path
            return pattern.match(path) == nil ? "the path \(path) is not \(pattern)" : nil
        }
    }
}

/// A path with placeholders, for example `/users/{id}/photos/*`.
///
/// `{name}` matches one segment and captures the segment. `*` matches any one segment. `**` at the
/// end matches the rest of the path, which may be empty. Other text must equal the percent-encoded
/// path of the URL.
public struct PathPattern: Hashable, Sendable {
    let text: String
    private let segments: [Substring]

    /// Creates a pattern.
    public init(_ text: String) {
        self.text = text
        segments = text.split(separator: "/", omittingEmptySubsequences: false)
    }

    func match(_ path: String) -> [String: String]? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        var found: [String: String] = [:]
        for (index, segment) in segments.enumerated() {
            if segment == "**", index == segments.count - 1 { return found }
            guard index < parts.count else { return nil }
            if segment == "*" { continue }
            if segment.hasPrefix("{"), segment.hasSuffix("}") {
                if parts[index].isEmpty { return nil }
                found[String(segment.dropFirst().dropLast())] =
                    PercentEncoding.decode(parts[index]) ?? String(parts[index])
            } else if segment != parts[index] {
                return nil
            }
        }
        return parts.count == segments.count ? found : nil
    }
}

extension PathPattern: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates a pattern.
    public init(stringLiteral value: String) { self.init(value) }

    /// The text of the pattern.
    public var description: String { text }
}
