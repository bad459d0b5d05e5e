// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

extension CurlTransport {
    /// The result of ``CurlTransport/prewarm(_:connections:within:)``.
    public struct Prewarmed: Sendable {
        /// The number of connections with a response that stay open, or 1 with HTTP/2.
        public let connections: Int
        /// The errors of the missing connections.
        public let failures: [any Error]
    }

    /// Opens connections with real requests before the connections are needed.
    ///
    /// The transport sends a copy of the request for each connection, all at once, and waits until
    /// each copy was answered or has failed. Idle connections are used first. The final number of
    /// connections is therefore the requested number. A server with HTTP/2 gets all copies on one
    /// connection. Any status is an answer.
    ///
    /// ```swift
    /// let transport = try CurlTransport()
    /// try await transport.prewarm(Request(.head, "https://api.example.com/"), connections: 8)
    /// let client = Client(baseURL: "https://api.example.com/", transport: transport)
    /// ```
    ///
    /// The copies of the request bypass the gates of the client. A cache or `Coalesce` would answer
    /// all copies with one request, a limit would delay the copies, and a breaker would count the
    /// copies. If the server needs credentials, the request must contain the credentials. For a
    /// service with several endpoints, prewarm each endpoint with a request that has a
    /// ``/TurnpikeCore/RequestOptions/connectTarget``.
    ///
    /// With ``HTTP3/automatic``, the connections use TCP. The connections stay open for
    /// ``Configuration/idleConnectionTimeout``, unless the server closes them earlier.
    /// - Parameters:
    ///   - request: A request without content and with a safe method, preferably HEAD. The response
    ///     may have at most 64 KiB.
    ///   - connections: The number of connections, at most ``Configuration/maxConnectionsPerHost``.
    ///   - limit: The longest wait. A request without a response within this time is a failure.
    /// - Returns: The number of connections, and the failures.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` for an invalid number or request,
    ///   the first failure if there is no connection, or `CancellationError`.
    @discardableResult
    public func prewarm(
        _ request: Request, connections: Int, within limit: Duration = .seconds(10)
    ) async throws -> Prewarmed {
        try check(request, connections)
        let contexts = (0..<connections).map { _ in Context() }
        let batch = Batch(count: connections)
        let cancel: @Sendable (CancelReason) -> Void = { reason in
            for context in contexts { context.cancel(reason) }
        }
        let timer = contexts[0].timeSource.schedule(after: limit) {
            let text = "a connection was not prewarmed within \(limit.text)"
            cancel(.failed(ClientError(.deadlineExceeded, text)))
        }
        defer { timer.cancel() }
        let results = await withTaskCancellationHandler {
            await withTaskGroup(of: Result<Int32?, any Error>.self) { group in
                for context in contexts {
                    group.addTask { await self.warm(request, context, batch) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        } onCancel: {
            cancel(.task)
        }
        try Task.checkCancellation()
        return try Self.summary(results)
    }

    private func check(_ request: Request, _ connections: Int) throws {
        let limits = [
            configuration.maxConnectionsPerHost, configuration.maxConnections ?? 0,
            configuration.maxIdleConnections,
        ]
        let most = limits.filter { $0 > 0 }.min() ?? 1024
        guard (1...most).contains(connections) else {
            throw ClientError(
                .configuration,
                "found \(connections) connections to prewarm; expected 1 to \(most), which is the"
                    + " lowest of maxConnectionsPerHost, maxConnections and maxIdleConnections")
        }
        guard request.method.isSafe, request.body.isEmpty else {
            throw ClientError(
                .configuration,
                "found \(request.method) to prewarm with; expected a safe method without content,"
                    + " such as HEAD, since the request is sent several times")
        }
        if let fault = request.fault { throw ClientError(.invalidRequest, fault) }
    }

    /// Returns the number of the connection, or nil if the connection does not stay open.
    private func warm(
        _ request: Request, _ context: Context, _ batch: Batch
    ) async -> Result<Int32?, any Error> {
        var isInBatch = false
        do {
            let lane = http3 == nil ? nil : lane
            let (response, connection) = try await send(request, context: context, over: lane) {
                isInBatch = true
                batch.add($1, of: $0)
            }
            _ = try await response.body.collect(upTo: 65_536)
            return .success(response.head.keepsConnection ? connection : nil)
        } catch {
            if !isInBatch { batch.skip() }
            return .failure(error)
        }
    }

    private static func summary(_ results: [Result<Int32?, any Error>]) throws -> Prewarmed {
        var connections: Set<Int32> = []
        var failures: [any Error] = []
        for result in results {
            switch result {
            case .success(let connection?): connections.insert(connection)
            case .success(nil):
                failures.append(
                    ClientError(.connection, "the server closes the connection after its response"))
            case .failure(let error): failures.append(error)
            }
        }
        if connections.isEmpty, let failure = failures.first { throw failure }
        return Prewarmed(connections: connections.count, failures: failures)
    }
}

extension ResponseHead {
    /// Whether the connection may be used again (RFC 9112 §9.3).
    fileprivate var keepsConnection: Bool {
        let options = headers.values(of: .connection).joined(separator: ",").lowercased()
            .split { $0 == "," || $0 == " " || $0 == "\t" }
        if options.contains("close") { return false }
        return version != "1.0" || options.contains("keep-alive")
    }
}

/// Transfers that begin together in one iteration of the engine, when all have arrived.
private final class Batch: Sendable {
    private struct State {
        var left: Int
        var transfers: [CurlTransfer] = []
        var engine: CurlEngine?
    }

    private let state: Mutex<State>

    init(count: Int) { state = Mutex(State(left: count)) }

    func add(_ transfer: CurlTransfer, of engine: CurlEngine) {
        arrive { state in
            state.transfers.append(transfer)
            state.engine = engine
        }
    }

    func skip() { arrive { _ in } }

    private func arrive(_ change: (inout State) -> Void) {
        let complete = state.withLock { state -> State? in
            change(&state)
            state.left -= 1
            return state.left == 0 ? state : nil
        }
        if let complete { complete.engine?.start(complete.transfers) }
    }
}
