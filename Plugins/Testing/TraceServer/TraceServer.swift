// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Synchronization
import TurnpikeCore
public import TurnpikeInspection
import TurnpikeSupport

/// Shows the traces of a ``/TurnpikeInspection/TraceStore`` live in a developer's browser.
///
/// ```swift
/// let traces = TraceStore()
/// let client = Client(baseURL: base, trace: traces)
/// let server = try TraceServer(traces)
/// print(server.url)  // http://127.0.0.1:40123/9f2c…/
/// ```
///
/// Other machines cannot read the traces, because the server listens only on loopback, at a port
/// that the system chooses. Other users of the machine cannot read the traces, because the path
/// contains a random token of 128 bits, and any other path is a 404. A request whose `Host` is not
/// loopback is refused. A site whose name resolves to 127.0.0.1 therefore gets no traces (DNS
/// rebinding). Traces contain no secrets, but show the servers to which a program connects. Start
/// the server only on a developer's demand.
///
/// Without a viewer, the server uses one thread. A request head may have 16 KiB. A connection may
/// send one request within ten seconds. At most eight connections are open. A ninth connection
/// replaces the oldest connection without a request, or else the oldest.
public final class TraceServer: Sendable {
    private struct State {
        // The connections in the order of their arrival.
        var connections: [Connection] = []
        var count = 0
        var isStopped = false
    }

    private struct Connection {
        let number: Int
        let socket: TestSocket
        var hasAsked = false
    }

    static let maxConnections = 8
    static let maxTime = Duration.seconds(10)
    static let maxHeadBytes = 16_384

    /// The port of the server.
    public let port: Int
    private let token: String
    private let title: String
    private let store: TraceStore
    private let listener: TestSocket
    private let state = Mutex(State())

    /// Starts a server.
    /// - Parameters:
    ///   - store: The traces.
    ///   - title: The title of the page.
    /// - Throws: A POSIX error if the system has no socket or thread left.
    public init(_ store: TraceStore, title: String = "Traces") throws {
        self.store = store
        self.title = title
        var random = SystemRandomNumberGenerator()
        token = (random.next() as UInt64).hexadecimal + (random.next() as UInt64).hexadecimal
        listener = try TestSocket.listening()
        port = try listener.localPort()
        let hasThread = SystemThread.start(stackBytes: 524_288) { [weak self, listener] in
            while let socket = listener.accept() {
                guard let self else { return socket.close() }
                self.begin(socket)
            }
        }
        if !hasThread { throw POSIXError(.EAGAIN) }
    }

    deinit { stop() }

    /// The address of the page with the token, with which anyone can read the traces.
    public var url: URL {
        URL(string: "http://127.0.0.1:\(port)/\(token)/") ?? URL(filePath: "/")
    }

    /// Closes all connections and stops listening.
    ///
    /// A second call does nothing.
    ///
    /// An open page still shows the old traces.
    public func stop() {
        let connections = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        listener.shutDown()
        for connection in connections { connection.socket.shutDown() }
    }

    // MARK: Connections

    private func begin(_ socket: TestSocket) {
        let number = state.withLock { state -> Int? in
            guard !state.isStopped else { return nil }
            if state.connections.count >= Self.maxConnections {
                let place = state.connections.firstIndex { !$0.hasAsked } ?? 0
                // The thread of the socket wakes up and closes the socket.
                state.connections.remove(at: place).socket.shutDown()
            }
            state.count += 1
            state.connections.append(Connection(number: state.count, socket: socket))
            return state.count
        }
        guard let number else { return socket.close() }
        let hasThread = SystemThread.start(stackBytes: 524_288) { [weak self] in
            let deadline = ContinuousClock.now + Self.maxTime
            if let head = Self.head(from: socket, before: deadline) {
                self?.markAsked(number)
                _ = self.map { socket.write($0.answer(to: head), before: deadline) }
            }
            socket.close()
            self?.end(number)
        }
        guard !hasThread else { return }
        socket.close()
        end(number)
    }

    private func markAsked(_ number: Int) {
        state.withLock { state in
            guard let place = state.connections.firstIndex(where: { $0.number == number }) else {
                return
            }
            state.connections[place].hasAsked = true
        }
    }

    private func end(_ number: Int) {
        state.withLock { state in state.connections.removeAll { $0.number == number } }
    }

    // Returns nil if the peer closes the connection, sends too much or takes too long.
    private static func head(
        from socket: TestSocket, before deadline: ContinuousClock.Instant
    ) -> Data? {
        let end = Data("\r\n\r\n".utf8)
        var head = Data()
        while head.count <= maxHeadBytes {
            guard let chunk = socket.read(before: deadline) else { return nil }
            head += chunk
            if let mark = head.range(of: end) { return Data(head[..<mark.upperBound]) }
        }
        return nil
    }

    // MARK: Answers

    func answer(to head: Data) -> Data {
        guard let request = ReceivedRequest(head: head, connection: 0) else {
            return TraceAnswer(400, "Bad Request").data
        }
        guard isLoopback(request.headers["Host"]) else {
            // RFC 9110 §15.5.20
            return TraceAnswer(421, "Misdirected Request").data
        }
        let parts = request.path.utf8.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, isToken(Array(parts[1])) else {
            return TraceAnswer(404, "Not Found").data
        }
        guard request.method == .get else {
            return TraceAnswer(405, "Method Not Allowed", fields: ["Allow: GET"]).data
        }
        switch String(Substring(parts[2])) {
        case "":
            let page = store.traces.html(title: title, refreshing: Self.source)
            return TraceAnswer(type: "text/html; charset=utf-8", Data(page.utf8)).data
        case Self.source:
            let traces = store.traces
            // Like the token, hash values are valid only in one process.
            let tag = "\"\(UInt64(bitPattern: Int64(traces.hashValue)).hexadecimal)\""
            // The page already has these traces (RFC 9110 §13.1.2).
            if request.headers["If-None-Match"] == tag { return TraceAnswer(unchanged: tag).data }
            let json = JSONValue.array(traces.map { $0.json() }).data()
            return TraceAnswer(type: "application/json", json, fields: ["ETag: \(tag)"]).data
        default: return TraceAnswer(404, "Not Found").data
        }
    }

    private static let source = "traces.json"

    private func isLoopback(_ host: String?) -> Bool {
        ["127.0.0.1:\(port)", "localhost:\(port)"].contains(host?.lowercased())
    }

    // The time of the comparison does not depend on the position of the first difference.
    private func isToken(_ given: [UInt8]) -> Bool {
        let token = Array(token.utf8)
        guard given.count == token.count else { return false }
        return zip(given, token).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// A response of the server, after which the connection is closed.
private struct TraceAnswer {
    private let status: String
    private let content: Data
    private let fields: [String]

    init(_ code: Int, _ reason: String, fields: [String] = []) {
        self.init(
            "\(code) \(reason)", type: "text/plain; charset=utf-8", Data("\(reason)\n".utf8),
            fields: fields)
    }

    init(type: String, _ content: Data, fields: [String] = []) {
        self.init("200 OK", type: type, content, fields: fields)
    }

    /// A response without content and without fields that describe content (RFC 9110 §15.4.5).
    init(unchanged tag: String) {
        status = "304 Not Modified"
        content = Data()
        fields = ["ETag: \(tag)"]
    }

    private init(_ status: String, type: String, _ content: Data, fields: [String]) {
        self.status = status
        self.content = content
        self.fields = ["Content-Type: \(type)", "Content-Length: \(content.count)"] + fields
    }

    var data: Data {
        // The address of the page contains the token, and must stay secret.
        let lines =
            [
                "HTTP/1.1 \(status)", "Connection: close", "Cache-Control: no-store",
                "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
                "X-Frame-Options: DENY", "Cross-Origin-Resource-Policy: same-origin",
            ] + fields
        return Data((lines + ["", ""]).joined(separator: "\r\n").utf8) + content
    }
}
