// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

final class ResponseBodyStorage: Sendable {
    private enum Phase {
        case unread
        case reading
        case ended
    }

    private struct State {
        var phase: Phase
        var error: (any Error)?
        var end: ResponseBodyEnd?
        var bytes: Int64 = 0
        var data: Data?
        var listener: (any ResponseBodyListener)?
        var exchange = 0
        var details: ExchangeDetails?
        var expiry: ResponseBodyExpiry?
        var pullHandlers = Few<PullHandler>()
        var chunkHandlers = Few<ChunkHandler>()
        var endHandlers = Few<EndHandler>()
    }

    // The struct avoids a second wrapper around the closure in a generic type.
    private struct PullHandler { let call: @Sendable () -> Void }
    private struct ChunkHandler { let call: @Sendable (Data) throws -> Void }
    private struct EndHandler { let call: @Sendable (ResponseBodyEnd) -> Void }

    let length: Int64?
    let encodedLength: Int64?
    let content: ResponseBodyContent
    private let state: Mutex<State>

    init(
        data: Data, trailers: HTTPHeaders = [:], encodedLength: Int64? = nil,
        encodedBytes: Int64? = nil
    ) {
        content = .memory(trailers: trailers, encodedBytes: encodedBytes)
        length = Int64(data.count)
        self.encodedLength = encodedLength
        state = Mutex(State(phase: .unread, data: data))
        if data.isEmpty { end(.finished) }
    }

    init(_ content: ResponseBodyContent, length: Int64?, encodedLength: Int64?) {
        self.content = content
        self.length = length
        self.encodedLength = encodedLength
        state = Mutex(State(phase: .unread))
    }

    deinit { if !hasEnded { cancel(.drop) } }

    // MARK: Reading

    func begin() throws {
        let isTaken = state.withLock { state in
            switch state.phase {
            case .unread:
                state.phase = .reading
                return false
            case .reading: return true
            // The body ended before a read, because the body is empty or was abandoned. After an
            // abandonment, the first read throws.
            case .ended:
                return state.bytes > 0 || (state.end?.isFinished == true && length != 0)
            }
        }
        if isTaken {
            throw ClientError(
                .unsupported,
                "a response body can be read only once; collect it to use its bytes several times")
        }
    }

    func pull() async throws -> Data? {
        switch try takeReady() {
        case .chunk(let chunk): return chunk
        case .end: return nil
        case .notYet: return try await waitForChunk()
        }
    }

    /// Starts a read, and returns a chunk that is available without a wait.
    func takeReady() throws -> ReadyChunk {
        if Task.isCancelled { cancel(.task) }
        let (hasEnded, handlers) = state.withLock { state in
            (state.phase == .ended, state.pullHandlers)
        }
        if hasEnded {
            try throwEnd()
            return .end
        }
        handlers.forEach { $0.call() }
        let ready: ReadyChunk
        do {
            ready =
                switch content {
                case .memory:
                    state.withLock { $0.data.take() }.map { .chunk($0) } ?? .end
                case .ready(let source): try source.takeReady()
                case .source: .notYet
                }
        } catch {
            try end(throwing: error)
            return .end
        }
        switch ready {
        case .chunk(let chunk): try deliver(chunk)
        case .end: try finish()
        case .notYet: break
        }
        return ready
    }

    func waitForChunk() async throws -> Data? {
        do {
            let chunk =
                switch content {
                case .memory: Data?.none
                case .ready(let source): try await source.next()
                case .source(let source): try await source.next()
                }
            if let chunk {
                try deliver(chunk)
                return chunk
            }
        } catch {
            try end(throwing: error)
            return nil
        }
        try finish()
        return nil
    }

    func finish() throws { if !end(.finished) { try throwEnd() } }

    /// Returns a storage for the rest of the body after a peek; the handlers stay in this storage.
    func continued() -> ResponseBodyStorage {
        let rest = length.map { [read = state.withLock { $0.bytes }] in max($0 - read, 0) }
        return ResponseBodyStorage(
            .source(ContinuedSource(storage: self)), length: rest, encodedLength: encodedLength)
    }

    private var details: ExchangeDetails? {
        state.withLock { $0.details } ?? content.wrapped?.storage.details
    }

    var arrival: ResponseBodyArrival { content.arrival }

    var isSettled: Bool { content.isSettled }

    var hasEnded: Bool { state.withLock { $0.phase == .ended } }

    var encodedBytes: Int64? { content.encodedBytes }

    var trailers: HTTPHeaders {
        guard state.withLock({ $0.end?.isFinished == true }) else { return [:] }
        return content.trailers.trailing
    }

    private func deliver(_ chunk: Data) throws {
        let (handlers, listener, exchange) = state.withLock { state in
            if state.phase != .ended { state.bytes += Int64(chunk.count) }
            return (state.chunkHandlers, state.listener, state.exchange)
        }
        listener?.didReceive(bytes: chunk.count, in: exchange)
        do {
            try handlers.forEach { try $0.call(chunk) }
        } catch {
            try fail(error)
        }
    }

    // The error for the caller is the recorded error with the details of the exchange.
    func fail(_ error: any Error) throws {
        cancel(.failed(error))
        try throwEnd()
        throw error
    }

    // Only the first reason for the end defines the error of the reader.
    private func end(throwing error: any Error) throws {
        end(ResponseBodyEnd.Reason(error), error: error)
        try throwEnd()
    }

    private func throwEnd() throws {
        if let error = state.withLock({ $0.error }) { throw error }
    }

    // MARK: Ending

    func cancel(_ reason: CancelReason) {
        // A time limit does not affect content that has already arrived.
        if reason.owner == .timeLimit, arrival != .underWay { return }
        let reason = reason.decided
        // An empty body has no unread content.
        let isRead = length == 0 && reason.owner == .drop
        let hasEnded = isRead ? end(.finished) : end(reason.bodyEndReason, error: reason.error)
        if hasEnded { content.cancel(reason) }
    }

    /// Ends a body without content at once, because perhaps no code reads the body.
    func endIfNothingComes() { if length == 0, arrival == .complete { end(.finished) } }

    @discardableResult
    private func end(_ reason: ResponseBodyEnd.Reason, error: (any Error)? = nil) -> Bool {
        let error = (error as? ClientError).map { details?.complete($0) ?? $0 } ?? error
        let encodedBytes = content.encodedBytes
        let (handlers, end, listener, exchange) = state.withLock { state in
            guard state.phase != .ended else {
                return (
                    Few<EndHandler>(), ResponseBodyEnd?.none, nil as (any ResponseBodyListener)?, 0
                )
            }
            let end = ResponseBodyEnd(
                reason: reason, bytes: state.bytes,
                encodedBytes: encodedBytes ?? (reason.isFinished ? encodedLength : nil))
            state.phase = .ended
            state.end = end
            state.error = error
            state.data = nil
            state.pullHandlers = Few()
            defer {
                state.endHandlers = Few()
                state.listener = nil
            }
            return (state.endHandlers, end, state.listener, state.exchange)
        }
        guard let end else { return false }
        listener?.didEndBody(of: exchange)
        handlers.forEach { $0.call(end) }
        return true
    }

    /// Sets a deadline for work on the content; only the first deadline (the innermost) counts.
    func expire(_ expiry: ResponseBodyExpiry) {
        state.withLock { $0.expiry = $0.expiry ?? expiry }
    }

    func checkCancellation() throws {
        try Task.checkCancellation()
        let (error, expiry) = state.withLock { ($0.error, $0.expiry) }
        if let error { throw error }
        try expiry?.check()
    }

    // MARK: Watching

    func attach(to listener: any ResponseBodyListener, _ details: ExchangeDetails, exchange: Int) {
        let hasEnded = state.withLock { state in
            state.details = details
            if state.phase != .ended { (state.listener, state.exchange) = (listener, exchange) }
            return state.phase == .ended
        }
        if hasEnded { listener.didEndBody(of: exchange) }
    }

    func add(onPull handler: @escaping @Sendable () -> Void) {
        state.withLock { state in
            if state.phase != .ended { state.pullHandlers.append(PullHandler(call: handler)) }
        }
    }

    func add(onChunk handler: @escaping @Sendable (Data) throws -> Void) {
        state.withLock { state in
            if state.phase != .ended { state.chunkHandlers.append(ChunkHandler(call: handler)) }
        }
    }

    func add(onEnd handler: @escaping @Sendable (ResponseBodyEnd) -> Void) {
        let end = state.withLock { state in
            if state.end == nil { state.endHandlers.append(EndHandler(call: handler)) }
            return state.end
        }
        if let end { handler(end) }
    }
}
