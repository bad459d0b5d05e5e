import Foundation
import Synchronization

/// The state behind a ``ResponseBody``: who reads it, who watches it, and how it ended.
final class BodyStorage: Sendable {
    private enum Phase {
        case unread
        case reading
        case ended
    }

    private struct State {
        var phase: Phase
        // What ended the body before its end, for the pull that was waiting.
        var error: (any Error)?
        var end: BodyEnd?
        var bytes: Int64 = 0
        var data: Data?
        // The call whose record hears of the bytes and of the end.
        var call: CallState?
        var pullHandlers = Few<PullHandler>()
        var chunkHandlers = Few<ChunkHandler>()
        var endHandlers = Few<EndHandler>()
    }

    // Closures that stood in a generic type by themselves would be wrapped once more.
    private struct PullHandler { let call: @Sendable () -> Void }
    private struct ChunkHandler { let call: @Sendable (Data) throws -> Void }
    private struct EndHandler { let call: @Sendable (BodyEnd) -> Void }

    let length: Int64?
    let encodedLength: Int64?
    private let source: (any ResponseBodySource)?
    private let state: Mutex<State>

    init(data: Data) {
        source = nil
        length = Int64(data.count)
        encodedLength = nil
        state = Mutex(State(phase: .unread, data: data))
        if data.isEmpty { end(.finished) }
    }

    init(source: any ResponseBodySource, length: Int64?, encodedLength: Int64?) {
        self.source = source
        self.length = length
        self.encodedLength = encodedLength
        state = Mutex(State(phase: .unread))
    }

    deinit { cancel(.drop) }

    // MARK: Reading

    /// Claims the body for one reader.
    func begin() throws {
        let isTaken = state.withLock { state in
            switch state.phase {
            case .unread:
                state.phase = .reading
                return false
            case .reading: return true
            // Ended before anyone read it: empty, or given up, which the first pull will tell.
            case .ended:
                return state.bytes > 0 || (state.end?.isFinished == true && length != 0)
            }
        }
        if isTaken {
            throw ClientError(
                .unsupported,
                "a response body can be read once; collect it and use the bytes several times")
        }
    }

    func pull() async throws -> Data? {
        let (ended, handlers) = state.withLock { state in
            (state.phase == .ended, state.pullHandlers)
        }
        if ended { return try endOfPull() }
        handlers.forEach { $0.call() }
        let chunk: Data?
        do {
            if let source { chunk = try await source.next() } else { chunk = takeData() }
        } catch {
            // Who ended the body first decides what the reader is told.
            end(error is CancellationError ? .cancelled : .failed(error), error: error)
            return try endOfPull()
        }
        guard let chunk else {
            end(.finished)
            return try endOfPull()
        }
        return try deliver(chunk)
    }

    func collect(upTo maxBytes: Int) async throws -> Data {
        try begin()
        if let length, length > maxBytes {
            let error = Self.tooLarge(maxBytes)
            cancel(.failed(error))
            throw error
        }
        guard var collected = try await pull() else { return Data() }
        while true {
            if collected.count > maxBytes {
                let error = Self.tooLarge(maxBytes)
                cancel(.failed(error))
                throw error
            }
            guard let chunk = try await pull() else { return collected }
            collected.append(chunk)
        }
    }

    /// A new storage for what is left to read, after a peek.
    ///
    /// The watchers stay with this one.
    func continued() -> BodyStorage {
        BodyStorage(
            source: ContinuedSource(storage: self), length: nil, encodedLength: encodedLength)
    }

    /// Whether no pull will have to wait.
    var isComplete: Bool { source?.isComplete ?? true }

    /// How much of the coded content has been taken in, where the source counts it.
    var encodedBytes: Int64? { source?.encodedBytes }

    /// What came behind the content; nothing before its end.
    var trailers: HTTPHeaders {
        guard state.withLock({ $0.end?.isFinished == true }) else { return [:] }
        return source?.trailers.trailing ?? [:]
    }

    private func takeData() -> Data? {
        state.withLock { state in
            defer { state.data = nil }
            return state.data
        }
    }

    private func deliver(_ chunk: Data) throws -> Data? {
        let (handlers, call) = state.withLock { state in
            if state.phase != .ended { state.bytes += Int64(chunk.count) }
            return (state.chunkHandlers, state.call)
        }
        call?.record.didReceive(bytes: chunk.count)
        do {
            try handlers.forEach { try $0.call(chunk) }
        } catch {
            cancel(.failed(error))
            throw error
        }
        return chunk
    }

    private func endOfPull() throws -> Data? {
        if let error = state.withLock({ $0.error }) { throw error }
        return nil
    }

    private static func tooLarge(_ maxBytes: Int) -> ClientError {
        ClientError(
            .tooLarge,
            "the response body is larger than \(maxBytes) bytes; stream it, or raise the limit")
    }

    // MARK: Ending

    func cancel(_ reason: CancelReason) {
        if end(reason.bodyEndReason, error: reason.error) { source?.cancel(reason) }
    }

    @discardableResult
    private func end(_ reason: BodyEnd.Reason, error: (any Error)? = nil) -> Bool {
        let (handlers, end, call) = state.withLock { state in
            guard state.phase != .ended else {
                return (Few<EndHandler>(), BodyEnd?.none, CallState?.none)
            }
            let end = BodyEnd(reason: reason, bytes: state.bytes)
            state.phase = .ended
            state.end = end
            state.error = error
            state.data = nil
            state.pullHandlers = Few()
            defer {
                state.endHandlers = Few()
                state.call = nil
            }
            return (state.endHandlers, end, state.call)
        }
        guard let end else { return false }
        call?.record.didEndBody(at: call?.environment.timeSource.now)
        handlers.forEach { $0.call(end) }
        return true
    }

    // MARK: Watching

    /// Lets a call's record hear of the bytes and of the end.
    func attach(to call: CallState) {
        let hasEnded = state.withLock { state in
            if state.phase != .ended { state.call = call }
            return state.phase == .ended
        }
        if hasEnded { call.record.didEndBody(at: call.environment.timeSource.now) }
    }

    func add(onPull handler: @escaping @Sendable () -> Void) {
        state.withLock { state in
            if state.phase == .ended { return }
            state.pullHandlers.append(PullHandler(call: handler))
        }
    }

    func add(onChunk handler: @escaping @Sendable (Data) throws -> Void) {
        state.withLock { state in
            if state.phase == .ended { return }
            state.chunkHandlers.append(ChunkHandler(call: handler))
        }
    }

    func add(onEnd handler: @escaping @Sendable (BodyEnd) -> Void) {
        let end = state.withLock { state in
            if state.end == nil { state.endHandlers.append(EndHandler(call: handler)) }
            return state.end
        }
        if let end { handler(end) }
    }
}
