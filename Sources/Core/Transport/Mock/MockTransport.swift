import Foundation
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
/// one-shot stream is used up, one that fails ends the call as ``ClientError/Code/upload``, and
/// cancelling ends a delay or a streamed answer at once. Delays run
/// on the client's time source.
public final class MockTransport: Transport {
    private enum Answer: Sendable {
        case now(@Sendable (Request) throws -> MockResponse)
        case later(@Sendable (Request) async throws -> MockResponse)
        case stubs
    }

    private struct State {
        var sent: [MockExchange] = []
        var count = 0
        var answered: [Int: Int] = [:]
        var unmatched: [String] = []
        var isShutDown = false
    }

    /// What the mock claims to be able to do.
    public let capabilities: TransportCapabilities
    private let recordLimit: Int
    private let stubs: [MockStub]
    private let answer: Answer
    private let state = Mutex(State())

    /// Creates a mock that a closure answers, without waiting for anything.
    /// - Parameters:
    ///   - capabilities: What it claims to be able to do; all that exists by default.
    ///   - recordLimit: How many requests are kept in ``sent``; older ones go.
    ///   - answer: Returns the answer; what it throws is what the transport throws.
    public init(
        capabilities: TransportCapabilities = .init(rawValue: .max), recordLimit: Int = 1000,
        _ answer: @escaping @Sendable (Request) throws -> MockResponse
    ) {
        self.capabilities = capabilities
        self.recordLimit = recordLimit
        stubs = []
        self.answer = .now(answer)
    }

    /// Creates a mock that a closure answers, in its own time.
    /// - Parameters:
    ///   - capabilities: What it claims to be able to do; all that exists by default.
    ///   - recordLimit: How many requests are kept in ``sent``; older ones go.
    ///   - answer: Returns the answer; what it throws is what the transport throws.
    public init(
        capabilities: TransportCapabilities = .init(rawValue: .max), recordLimit: Int = 1000,
        _ answer: @escaping @Sendable (Request) async throws -> MockResponse
    ) {
        self.capabilities = capabilities
        self.recordLimit = recordLimit
        stubs = []
        self.answer = .later(answer)
    }

    /// Creates a mock that stubs answer: the first one that matches a request gives its next
    /// answer, the last one again and again.
    ///
    /// A request that matches none fails as ``ClientError/Code/unsupported``, with what keeps it
    /// from the nearest stub; end the list with ``MockStub/otherwise(_:)`` to answer such requests.
    public init(
        capabilities: TransportCapabilities = .init(rawValue: .max), recordLimit: Int = 1000,
        _ stubs: [MockStub]
    ) {
        self.capabilities = capabilities
        self.recordLimit = recordLimit
        self.stubs = stubs
        answer = .stubs
    }

    /// The requests that were sent, in order, the latest ones.
    public var sent: [MockExchange] { state.withLock { $0.sent } }

    /// How many requests were sent.
    public var sentCount: Int { state.withLock { $0.count } }

    /// The requests that were sent with a method to a path, in order.
    public func sent(_ method: HTTPMethod, _ path: PathPattern) -> [MockExchange] {
        sent.filter { sent in
            sent.request.method == method
                && path.match(sent.request.url.path(percentEncoded: true)) != nil
        }
    }

    /// For each request that matched no stub, which it was and what kept it from the nearest.
    public var unmatched: [String] { state.withLock { $0.unmatched } }

    /// The stubs that were never asked, by what they ask for.
    public var unused: [String] {
        let answered = state.withLock { $0.answered }
        return stubs.enumerated().filter { answered[$0.offset] == nil }.map(\.element.name)
    }

    /// Throws where a request matched no stub or a stub was never asked.
    ///
    /// Called at the end of a test, it finds what a stack swallowed: a retry hides a request that
    /// no stub expected.
    public func verify() throws {
        let complaints = unmatched + unused.map { "the stub “\($0)” was never asked" }
        if complaints.isEmpty { return }
        throw ClientError(.unsupported, complaints.joined(separator: "; "))
    }

    /// Answers a request.
    public func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        let (body, trailers) = try await content(of: request, context)
        let isShutDown = state.withLock { state in
            state.count += 1
            if recordLimit > 0 {
                if state.sent.count >= recordLimit { state.sent.removeFirst(recordLimit / 2 + 1) }
                state.sent.append(
                    MockExchange(request: request, body: body, trailers: trailers))
            }
            return state.isShutDown
        }
        if isShutDown { throw ClientError(.cancelled, "the transport was shut down") }
        let answer =
            switch answer {
            case .now(let make): try make(request)
            case .later(let make): try await make(request)
            case .stubs: try stubbed(request, body)
            }
        return try await answer.response(to: request, in: context)
    }

    /// Makes later sends fail.
    public func shutdown() async { state.withLock { $0.isShutDown = true } }

    private func stubbed(_ request: Request, _ body: Data) throws -> MockResponse {
        let mismatches = stubs.map { $0.mismatches(request, body: body) }
        let answer = state.withLock { state -> MockResponse? in
            for (index, stub) in stubs.enumerated() where mismatches[index].isEmpty {
                let turn = state.answered[index, default: 0]
                if let limit = stub.limit, turn >= limit { continue }
                state.answered[index] = turn + 1
                return stub.response(at: turn)
            }
            return nil
        }
        if let answer { return answer }
        let report = report(on: request, mismatches)
        state.withLock { state in
            if state.unmatched.count < recordLimit { state.unmatched.append(report) }
        }
        throw ClientError(.unsupported, report)
    }

    private func report(on request: Request, _ mismatches: [[String]]) -> String {
        let nearest = mismatches.enumerated().max { left, right in
            stubs[left.offset].likeness(left.element) < stubs[right.offset].likeness(right.element)
        }
        guard let nearest else { return "no stub matches \(request): there are none" }
        let reason =
            nearest.element.isEmpty
            ? "it has given its answers already" : nearest.element.joined(separator: ", and ")
        return
            "no stub matches \(request); the nearest is “\(stubs[nearest.offset].name)”, but \(reason)"
    }

    private func content(
        of request: Request, _ context: Context
    ) async throws -> (Data, HTTPHeaders) {
        if let data = request.body.inMemory { return (data, [:]) }
        // A stream may wait for anything.
        return try await context.child().running {
            let reader = try request.body.open()
            var content = Data()
            while let chunk = try await reader.nextToSend() { content.append(chunk) }
            return (content, reader.trailers)
        }
    }
}

extension MockTransport: Heeding {
    package var heed: Heed {
        if case .later = answer { return .unknown }
        return .always
    }
}
