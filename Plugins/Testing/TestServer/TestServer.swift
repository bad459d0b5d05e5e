// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Synchronization
public import TurnpikeCore

/// An HTTP/1.1 server for tests on the loopback interface.
///
/// Each path has its own responses, and requests are recorded byte for byte.
///
/// ```swift
/// let server = try TestServer()
/// server.route("/flaky", .status(503), .status(503), .ok(json: ["id": 1]))
/// server.route("/slow", .ok(text: "late").delayed(by: .milliseconds(50)))
/// let client = Client(baseURL: server.target, stack: [.retry()])
/// let value = try await client.get("flaky").json()
/// #expect(server.requests(to: "/flaky").count == 3)
/// ```
///
/// The server listens on 127.0.0.1 on a port that the system chooses. The server keeps connections
/// alive, and uses one thread for each connection. Use the server only in tests, because the server
/// trusts its clients.
public final class TestServer: Sendable {
    private struct Route {
        var answers: [TestAnswer]
        var turn = 0
    }

    private struct State {
        var routes: [String: Route] = [:]
        var fallback = TestAnswer.status(404)
        var received: [ReceivedRequest] = []
        var receivedCount = 0
        var connections: [Int: TestConnection] = [:]
        var connectionCount = 0
        var peakConnections = 0
        var inFlight = 0
        var peakInFlight = 0
        var abandonedCount = 0
        var waiters = Waiters<Counts>()
        var isStopped = false
    }

    /// The numbers of events on the server.
    public struct Counts: Sendable, Hashable {
        /// The number of requests whose head has arrived.
        public let requests: Int
        /// The number of accepted connections.
        public let accepted: Int
        /// The number of currently open connections.
        public let open: Int
        /// The maximum number of connections that were open at the same time.
        public let peak: Int
        /// The number of responses during which the client closed the connection.
        public let abandoned: Int
        /// The number of requests whose head has arrived and whose response is not complete.
        public let inFlight: Int
        /// The maximum number of requests that were in flight at the same time.
        public let peakInFlight: Int
    }

    /// The port of the server.
    public let port: Int
    private let listener: TestSocket
    private let keepsRecord: Bool
    private let state = Mutex(State())

    /// Starts a server.
    /// - Parameter keepsRecord: Whether ``requests`` contains the requests.
    /// - Throws: A POSIX error if the system has no socket or thread left.
    public init(keepsRecord: Bool = true) throws {
        self.keepsRecord = keepsRecord
        listener = try TestSocket.listening()
        port = try listener.localPort()
        let hasThread = startThread { [weak self, listener] in
            while let socket = listener.accept() {
                guard let self else { return socket.close() }
                self.begin(socket)
            }
        }
        if !hasThread { throw POSIXError(.EAGAIN) }
    }

    deinit { stop() }

    /// The server's address.
    public var url: URL { URL(string: "http://127.0.0.1:\(port)/") ?? URL(filePath: "/") }

    /// The server's address as a client's base URL.
    public var target: Target { Target(url) }

    /// Sets the responses to the requests for a path, of which the last is repeated.
    public func route(_ path: String, _ answers: TestAnswer...) {
        state.withLock { $0.routes[path] = Route(answers: answers) }
    }

    /// Sets the response for paths without a route, which is 404 by default.
    public func fallback(_ answer: TestAnswer) { state.withLock { $0.fallback = answer } }

    /// Closes all connections and stops listening.
    public func stop() {
        let connections = state.withLock { state in
            state.isStopped = true
            return state.connections.values.map(\.self)
        }
        listener.shutDown()
        for connection in connections { connection.abort() }
    }

    // MARK: The record

    /// The received requests in order, each added before its response is sent.
    public var requests: [ReceivedRequest] { state.withLock { $0.received } }

    /// Returns the requests for a path, in order.
    public func requests(to path: String) -> [ReceivedRequest] {
        requests.filter { $0.path == path }
    }

    /// The current numbers of events.
    public var counts: Counts { state.withLock { Self.counts($0) } }

    /// Waits until a condition on the counts holds, or the task is cancelled.
    /// - Parameters:
    ///   - limit: The longest wait in real time.
    ///   - condition: The condition.
    /// - Throws: ``WaitExpired`` after the limit, with the counts.
    public func wait(
        limit: Duration = .seconds(60), until condition: @escaping @Sendable (Counts) -> Bool
    ) async throws {
        try await wait(limit, for: "a condition on the counts of a server", condition)
    }

    /// Waits until the heads of at least `count` requests have arrived, or the task is cancelled.
    /// - Parameters:
    ///   - count: The number of requests.
    ///   - limit: The longest wait in real time.
    /// - Throws: ``WaitExpired`` after the limit, with the counts.
    public func waitForRequests(_ count: Int, limit: Duration = .seconds(60)) async throws {
        try await wait(limit, for: "\(count) requests to a server") { $0.requests >= count }
    }

    private func wait(
        _ limit: Duration, for what: String,
        _ condition: @escaping @Sendable (Counts) -> Bool
    ) async throws {
        let moment = state.withLock { $0.waiters.add(Self.counts($0), condition) }
        try await moment?.wait(
            upTo: limit, for: { [self] in "\(what); there are \(counts)" },
            leaving: { [self] moment in state.withLock { $0.waiters.remove(moment) } })
    }

    private static func counts(_ state: State) -> Counts {
        Counts(
            requests: state.receivedCount, accepted: state.connectionCount,
            open: state.connections.count, peak: state.peakConnections,
            abandoned: state.abandonedCount, inFlight: state.inFlight,
            peakInFlight: state.peakInFlight)
    }

    private func update(_ change: (inout State) -> Void) {
        let ready = state.withLock { state in
            change(&state)
            return state.waiters.isEmpty ? [] : state.waiters.takeReady(Self.counts(state))
        }
        ready.settle()
    }

    // MARK: Connections

    private func begin(_ socket: TestSocket) {
        let connection = TestConnection(socket: socket)
        var number = 0
        update { state in
            state.connectionCount += 1
            number = state.connectionCount
            state.connections[number] = connection
            state.peakConnections = max(state.peakConnections, state.connections.count)
        }
        if state.withLock({ $0.isStopped }) { connection.abort() }
        // The thread ends with the connection. The client or `stop` closes the connection.
        let hasThread = startThread { [weak self, number] in
            connection.serve(number: number) { self }
            socket.close()
            self?.update { $0.connections[number] = nil }
        }
        guard !hasThread else { return }
        socket.close()
        update { $0.connections[number] = nil }
    }

    func didReceiveHead() { update(Self.count) }

    private static func count(_ state: inout State) {
        state.receivedCount += 1
        state.inFlight += 1
        state.peakInFlight = max(state.peakInFlight, state.inFlight)
    }

    // Records a request and selects the response. Counts a request whose head was not counted.
    func answer(to request: ReceivedRequest, isCounted: Bool) -> TestAnswer {
        var answer = TestAnswer.status(404)
        update { state in
            if !isCounted { Self.count(&state) }
            if keepsRecord { state.received.append(request) }
            answer = Self.nextAnswer(for: request.path, state)
            state.routes[request.path]?.turn += 1
        }
        return answer
    }

    func nextAnswer(for path: String) -> TestAnswer {
        state.withLock { Self.nextAnswer(for: path, $0) }
    }

    private static func nextAnswer(for path: String, _ state: State) -> TestAnswer {
        guard let route = state.routes[path], !route.answers.isEmpty else { return state.fallback }
        return route.answers[min(route.turn, route.answers.count - 1)]
    }

    /// Records the end of a response, which may be a close of the connection by the client.
    func didAnswer(wasAbandoned: Bool = false) {
        update { state in
            state.inFlight -= 1
            if wasAbandoned { state.abandonedCount += 1 }
        }
    }
}

private func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    SystemThread.start(stackBytes: 262_144, body)
}

/// Delays responses of a ``TestServer`` until a test calls ``open()``.
public final class TestHold: Sendable {
    private let opened = Atomic(false)

    /// Creates a closed hold.
    public init() {}

    /// Releases the waiting response and all later responses.
    public func open() { opened.store(true, ordering: .releasing) }

    var isOpen: Bool { opened.load(ordering: .acquiring) }
}
