import Foundation

/// Which requests a ``MockTransport`` answers, and how.
public struct MockStub: Sendable {
    private let matcher: @Sendable (Request) -> Bool
    private let responses: [MockResponse]

    /// Creates a stub.
    /// - Parameters:
    ///   - responses: The answers in order; the last one is given again and again.
    ///   - matcher: Whether the stub answers a request.
    public init(
        _ responses: [MockResponse], when matcher: @escaping @Sendable (Request) -> Bool
    ) {
        self.responses = responses
        self.matcher = matcher
    }

    /// A stub for a method and a path.
    public static func on(
        _ method: HTTPMethod, _ path: String, _ responses: MockResponse...
    ) -> MockStub {
        MockStub(responses) { $0.method == method && $0.url.path(percentEncoded: true) == path }
    }

    /// A stub for all requests.
    public static func any(_ responses: MockResponse...) -> MockStub {
        MockStub(responses) { _ in true }
    }

    func matches(_ request: Request) -> Bool { !responses.isEmpty && matcher(request) }

    func response(at turn: Int) -> MockResponse { responses[min(turn, responses.count - 1)] }
}
