public import Foundation
import Synchronization

/// A transport without a network, for tests: a closure or stubs answer, and what was sent is kept.
///
/// ```swift
/// let transport = MockTransport { request in .ok(json: ["path": .string(request.url.path())]) }
/// let scripted = MockTransport([
///     .on(.get, "/flaky", .status(503), .status(503), .ok(text: "third time")),
/// ])
/// ```
///
/// It treats bodies as a real one does: a request body is opened and read to its end, so that a
/// one-shot stream is used up, and cancelling ends a delay or a streamed answer at once. Delays run
/// on the client's time source.
public final class MockTransport: Transport {
    /// One request that was sent.
    public struct Sent: Sendable {
        /// The request as the transport got it.
        public let request: Request
        /// The content that was sent.
        public let body: Data
    }

    private struct State {
        var sent: [Sent] = []
        var count = 0
        var answered: [Int: Int] = [:]
        var isShutDown = false
    }

    /// What the mock claims to be able to do.
    public let capabilities: TransportCapabilities
    private let recordLimit: Int
    private let answer: @Sendable (Request, MockTransport) async throws -> MockResponse
    private let state = Mutex(State())

    /// Creates a mock that a closure answers.
    /// - Parameters:
    ///   - capabilities: What it claims to be able to do; all that exists by default.
    ///   - recordLimit: How many requests are kept in ``sent``; older ones go.
    ///   - answer: Gives the answer; what it throws is what the transport throws.
    public init(
        capabilities: TransportCapabilities = .init(rawValue: .max), recordLimit: Int = 1000,
        _ answer: @escaping @Sendable (Request) async throws -> MockResponse
    ) {
        self.capabilities = capabilities
        self.recordLimit = recordLimit
        self.answer = { request, _ in try await answer(request) }
    }

    /// Creates a mock that stubs answer: the first one that matches a request gives its next
    /// answer, the last one again and again.
    ///
    /// A request that matches none fails as ``ClientError/Code/unsupported``.
    public init(
        capabilities: TransportCapabilities = .init(rawValue: .max), recordLimit: Int = 1000,
        _ stubs: [MockStub]
    ) {
        self.capabilities = capabilities
        self.recordLimit = recordLimit
        answer = { request, transport in
            guard let index = stubs.firstIndex(where: { $0.matches(request) }) else {
                throw ClientError(.unsupported, "no stub matches \(request)")
            }
            let turn = transport.state.withLock { state in
                defer { state.answered[index, default: 0] += 1 }
                return state.answered[index, default: 0]
            }
            return stubs[index].response(at: turn)
        }
    }

    /// The requests that were sent, in order, the latest ones.
    public var sent: [Sent] { state.withLock { $0.sent } }

    /// How many requests were sent.
    public var sentCount: Int { state.withLock { $0.count } }

    /// Answers a request.
    public func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        let body = try await content(of: request)
        let isShutDown = state.withLock { state in
            state.count += 1
            if recordLimit > 0 {
                if state.sent.count >= recordLimit { state.sent.removeFirst(recordLimit / 2 + 1) }
                state.sent.append(Sent(request: request, body: body))
            }
            return state.isShutDown
        }
        if isShutDown { throw ClientError(.cancelled, "the transport was shut down") }
        return try await answer(request, self).response(to: request, in: context)
    }

    /// Makes later sends fail.
    public func shutdown() async { state.withLock { $0.isShutDown = true } }

    private func content(of request: Request) async throws -> Data {
        if let data = request.body.inMemory { return data }
        let reader = try request.body.open()
        var content = Data()
        while let chunk = try await reader.next() { content.append(chunk) }
        return content
    }
}
