import Foundation

/// Which requests a ``MockTransport`` answers, and how.
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
    /// How often the stub answers; nil for any number.
    private(set) var limit: Int?

    /// Creates a stub.
    /// - Parameters:
    ///   - matchers: What a request must meet, all of it.
    ///   - responses: The answers in order; the last one is given again and again.
    public init(_ matchers: [RequestMatcher], responses: [MockResponse]) {
        self.matchers = matchers
        self.responses = responses
    }

    /// Creates a stub for requests that a closure picks.
    /// - Parameters:
    ///   - responses: The answers in order; the last one is given again and again.
    ///   - matcher: Whether the stub answers a request.
    public init(
        _ responses: [MockResponse], when matcher: @escaping @Sendable (Request) -> Bool
    ) {
        self.init([.where("what a closure wants", matcher)], responses: responses)
    }

    /// A stub for a method and a path.
    public static func on(
        _ method: HTTPMethod, _ path: PathPattern, where matchers: [RequestMatcher] = [],
        _ responses: MockResponse...
    ) -> MockStub {
        MockStub([.method(method), .path(path)] + matchers, responses: responses)
    }

    /// A stub for all requests.
    public static func any(_ responses: MockResponse...) -> MockStub {
        MockStub([], responses: responses)
    }

    /// A stub for what no other stub answers; it belongs at the end.
    public static func otherwise(_ response: MockResponse) -> MockStub {
        MockStub([], responses: [response])
    }

    /// The same stub, which answers once.
    public func once() -> MockStub { times(1) }

    /// The same stub, which answers a number of times and then no more.
    public func times(_ count: Int) -> MockStub {
        var copy = self
        copy.limit = count
        return copy
    }

    var name: String {
        matchers.isEmpty ? "any request" : matchers.map(\.name).joined(separator: " ")
    }

    /// What keeps a request from this stub; empty where nothing does.
    func mismatches(_ request: Request, body: Data) -> [String] {
        if responses.isEmpty { return ["it has no answer"] }
        return matchers.compactMap { $0.mismatch(request, body: body) }
    }

    /// How near a request with these mismatches came: by what held, then by what did not.
    func likeness(_ mismatches: [String]) -> Int {
        (matchers.count - mismatches.count) * 100 - mismatches.count
    }

    func response(at turn: Int) -> MockResponse { responses[min(turn, responses.count - 1)] }
}
