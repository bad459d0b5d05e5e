// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Which requests a ``MockTransport`` responds to, and how.
///
/// ```swift
/// MockTransport([
///     .on(.get, "/users/{id}", .status(503), .ok(json: ["id": 1])),  // 503 once, then 200
///     .on(.post, "/users", where: [.json("name", "Ada")], .status(201)).once(),
///     .otherwise(.status(404)),
/// ])
/// ```
public struct MockStub: Sendable {
    private let matchers: [RequestMatcher]
    private let responses: [MockResponse]
    /// How many times the stub responds; nil for any number.
    private(set) var limit: Int?

    /// Creates a stub.
    /// - Parameters:
    ///   - matchers: The conditions that a request must satisfy, all of them.
    ///   - responses: The responses in order; the last one is repeated.
    public init(_ matchers: [RequestMatcher], responses: [MockResponse]) {
        self.matchers = matchers
        self.responses = responses
    }

    /// Creates a stub for requests that a closure selects.
    /// - Parameters:
    ///   - responses: The responses in order; the last one is repeated.
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

    /// Creates a stub for requests that no other stub matches; place it last.
    public static func otherwise(_ response: MockResponse) -> MockStub {
        MockStub([], responses: [response])
    }

    /// Returns the same stub, limited to one response.
    public func once() -> MockStub { times(1) }

    /// Returns the same stub, limited to a number of responses.
    public func times(_ count: Int) -> MockStub {
        var copy = self
        copy.limit = count
        return copy
    }

    var name: String {
        matchers.isEmpty ? "any request" : matchers.map(\.name).joined(separator: " ")
    }

    /// Returns the reasons why a request does not match this stub; empty if it matches.
    func mismatches(_ request: Request, body: Data) -> [String] {
        if responses.isEmpty { return ["it has no answer"] }
        return matchers.compactMap { $0.mismatch(request, body: body) }
    }

    /// Returns how close a request with these mismatches came: more matches first, then fewer
    /// mismatches.
    func likeness(_ mismatches: [String]) -> Int {
        (matchers.count - mismatches.count) * 100 - mismatches.count
    }

    func response(at turn: Int) -> MockResponse { responses[min(turn, responses.count - 1)] }
}
