// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

/// A transport without a network, for tests, which records requests and returns prepared responses.
///
/// ```swift
/// let transport = MockTransport { request in .ok(json: ["path": .string(request.url.path())]) }
/// let scripted = MockTransport([
///     .on(.get, "/flaky", .status(503), .status(503), .ok(text: "third time")),
/// ])
/// ```
///
/// The mock handles bodies as a real transport does. The mock opens and reads each request body
/// completely, and therefore consumes a one-shot stream. If a body fails, the call fails with
/// ``ClientError/Code/upload``. A cancellation immediately ends a delay or a streamed response.
/// Delays use the client's time source.
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

    /// The capabilities that the mock declares.
    public let capabilities: TransportCapabilities

    /// False, because the mock has no connections.
    public var provesClient: Bool { false }
    private let recordLimit: Int
    private let stubs: [MockStub]
    private let answer: Answer
    private let state = Mutex(State())

    /// Creates a mock whose responses come from a synchronous closure.
    /// - Parameters:
    ///   - capabilities: The declared capabilities; all by default.
    ///   - recordLimit: The maximum number of requests in ``sent``; older requests are dropped.
    ///   - answer: Returns the response. The transport throws the errors of the closure.
    public init(
        capabilities: TransportCapabilities = .init(rawValue: .max), recordLimit: Int = 1000,
        _ answer: @escaping @Sendable (Request) throws -> MockResponse
    ) {
        self.capabilities = capabilities
        self.recordLimit = recordLimit
        stubs = []
        self.answer = .now(answer)
    }

    /// Creates a mock whose responses come from an asynchronous closure.
    /// - Parameters:
    ///   - capabilities: The declared capabilities; all by default.
    ///   - recordLimit: The maximum number of requests in ``sent``; older requests are dropped.
    ///   - answer: Returns the response. The transport throws the errors of the closure.
    public init(
        capabilities: TransportCapabilities = .init(rawValue: .max), recordLimit: Int = 1000,
        _ answer: @escaping @Sendable (Request) async throws -> MockResponse
    ) {
        self.capabilities = capabilities
        self.recordLimit = recordLimit
        stubs = []
        self.answer = .later(answer)
    }

    /// Creates a mock with stubs.
    ///
    /// The first stub that matches a request returns the stub's next response. After the last
    /// response, the stub repeats that response. If a request matches no stub, the request fails
    /// with ``ClientError/Code/unsupported``, and the error shows the difference from the most
    /// similar stub. To respond to unmatched requests, add ``MockStub/otherwise(_:)`` as the last
    /// stub.
    public init(
        capabilities: TransportCapabilities = .init(rawValue: .max), recordLimit: Int = 1000,
        _ stubs: [MockStub]
    ) {
        self.capabilities = capabilities
        self.recordLimit = recordLimit
        self.stubs = stubs
        answer = .stubs
    }

    /// The latest recorded requests, in order.
    public var sent: [MockExchange] { state.withLock { $0.sent } }

    /// The number of sent requests.
    public var sentCount: Int { state.withLock { $0.count } }

    /// Returns the recorded requests with a method and a path, in order.
    public func sent(_ method: HTTPMethod, _ path: PathPattern) -> [MockExchange] {
        sent.filter { sent in
            sent.request.method == method
                && path.match(sent.request.targetURI.path) != nil
        }
    }

    var unmatched: [String] { state.withLock { $0.unmatched } }

    var unused: [String] {
        let answered = state.withLock { $0.answered }
        return stubs.enumerated().filter { answered[$0.offset] == nil }.map(\.element.name)
    }

    /// Throws an error if a request matched no stub, or if a stub was never used.
    ///
    /// Call this method at the end of a test, because a retry may hide an unmatched request.
    public func verify() throws {
        let complaints = unmatched + unused.map { "the stub “\($0)” was never used" }
        if complaints.isEmpty { return }
        throw ClientError(.unsupported, complaints.joined(separator: "; "))
    }

    /// Responds to a request.
    public func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        let (body, trailers) =
            if let data = request.body.inMemory { (data, HTTPHeaders()) } else {
                try await content(of: request, context)
            }
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
        guard let nearest else { return "no stub matches \(request): the transport has no stubs" }
        let reason =
            nearest.element.isEmpty
            ? "the responses of this stub are used up" : nearest.element.joined(separator: ", and ")
        return
            "no stub matches \(request); the nearest is “\(stubs[nearest.offset].name)”, but \(reason)"
    }

    private func content(
        of request: Request, _ context: Context
    ) async throws -> (Data, HTTPHeaders) {
        // The stream of a request body may suspend for any time.
        try await context.child().running {
            let reader = try request.body.open()
            var content = Data()
            while let chunk = try await reader.nextToSend() { content.append(chunk) }
            return (content, reader.trailers)
        }
    }
}

extension MockTransport: PromptlyCancellable {
    /// The mock ends soon, unless the responses come from an asynchronous closure, which may wait.
    public var promptness: Promptness {
        if case .later = answer { return .unknown }
        return .always
    }
}

/// One request that a ``MockTransport`` received.
///
/// ```swift
/// let sent = try #require(transport.sent(.post, "/users").first)
/// #expect(sent.request.headers[.contentType] == "application/json")
/// #expect(try sent.json()["name"] == "Ada")
/// ```
public struct MockExchange: Sendable {
    /// The request as the transport received it.
    public let request: Request
    /// The content that was sent.
    public let body: Data
    /// The trailer fields that were sent after the content.
    public let trailers: HTTPHeaders

    var connectTarget: ConnectTarget? { request.options.connectTarget }

    /// The content as UTF-8 text, or nil if the content is not valid UTF-8.
    public var text: String? { String(validating: body, as: UTF8.self) }

    /// Returns the content as JSON.
    /// - Throws: ``ClientError/Code/serialization`` if the content is not JSON.
    public func json() throws -> JSONValue { try JSONValue(parsing: body) }

    /// The content as form fields, in order.
    public var form: [(name: String, value: String)] {
        FormField.parse(text ?? "").map { ($0.name, $0.value) }
    }

    /// Decodes the content with a JSON decoder.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value { try decoder.decode(type, from: body) }

    /// Returns the values of the named segments of a pattern, or nil if the path does not match.
    public func parameters(of pattern: PathPattern) -> [String: String]? {
        pattern.match(request.targetURI.path)
    }
}
