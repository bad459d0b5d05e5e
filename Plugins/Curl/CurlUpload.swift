// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// A request's content, in the form in which libcurl reads it.
///
/// libcurl copies content from memory. A task reads files and streams into a bounded pipe. The
/// event loop therefore never waits for a disk or a sequence.
// SAFETY: `reader` and `onReady` are set before an engine has the transfer. After that, `reader`,
// `onReady` and `position` are used only under the engine's lock.
final class CurlUpload: @unchecked Sendable {
    enum Portion {
        case bytes(Int)
        case wait
        case failed
    }

    private let body: RequestBody
    private let data: Data?
    private let context: Context
    private let pipe = Mutex<UploadPipe?>(nil)
    private let sent = Atomic<Int64>(0)
    private var reader: RequestBodyReader?
    private var onReady: @Sendable () -> Void = {}
    private var position = 0

    /// The number of bytes, or nil if the number is unknown or trailers follow.
    let length: Int64?

    /// - Throws: The errors of ``/TurnpikeCore/RequestBody/open()``.
    init(_ body: RequestBody, context: Context) throws {
        self.body = body
        self.context = context
        data = body.inMemory
        if let data {
            length = Int64(data.count)
        } else {
            length = body.hasTrailers ? nil : body.length
            reader = try body.open()
        }
    }

    // Begins to read the content. `onReady` runs when libcurl can read more content.
    func start(_ onReady: @escaping @Sendable () -> Void) {
        guard let reader = reader.take() else { return }
        self.onReady = onReady
        start(UploadPipe(reader, onFill: onReady))
    }

    private func start(_ fresh: UploadPipe) {
        let old = pipe.withLock { pipe in
            defer { pipe = fresh }
            return pipe
        }
        old?.close()
        fresh.start()
    }

    /// The maximum number of bytes that a single send has written to the connection.
    var bytesSent: Int64 { sent.load(ordering: .relaxed) }

    var fault: (any Error)? { pipe.withLock { $0 }?.fault }

    /// The trailer lines, which are valid after all content was read.
    var trailerLines: [String] {
        let trailers = pipe.withLock { $0 }?.trailers ?? [:]
        return trailers.map { "\($0.name.rawValue): \($0.value)" }
    }

    func close() { pipe.withLock { $0 }?.close() }

    // MARK: From libcurl, under the engine's lock

    func read(into target: UnsafeMutableRawBufferPointer) -> Portion {
        let portion: Portion
        if let data {
            let count = min(target.count, data.count - position)
            let start = data.startIndex + position
            unsafe data.copyBytes(to: target, from: start..<start + count)
            portion = .bytes(count)
        } else if let pipe = pipe.withLock({ $0 }) {
            portion = unsafe pipe.read(into: target)
        } else {
            portion = .failed
        }
        guard case .bytes(let count) = portion, count > 0 else { return portion }
        position += count
        let total = max(Int64(position), bytesSent)
        sent.store(total, ordering: .relaxed)
        context.report(.sent(bytes: Int64(position)))
        return portion
    }

    var canReopen: Bool { isAtStart || data != nil || body.isReplayable }

    private var isAtStart: Bool { position == 0 }

    // Restarts the content. If a task must reopen the body, `onReady` runs after the task.
    func reopen() {
        if isAtStart { return }
        position = 0
        if data != nil { return }
        start(UploadPipe(opening: body, onFill: onReady))
    }

    /// Whether the content was opened or cannot be opened.
    var isOpen: Bool { pipe.withLock { $0 }?.isOpen ?? true }
}

/// A buffer of request content between the task that reads the body and libcurl.
final class UploadPipe: Sendable {
    private enum Phase {
        case opening
        case open
        /// The task has read all content, and these trailer fields follow.
        case ended(trailers: HTTPHeaders)
        case failed(any Error)
        /// The transfer has ended.
        case closed

        var isOpening: Bool { if case .opening = self { true } else { false } }
        var isClosed: Bool { if case .closed = self { true } else { false } }
    }

    private struct State {
        var phase: Phase
        var task: Task<Void, Never>?
        // The unread chunks begin at index `first`, and at `offset` within the first chunk.
        var chunks: [Data] = []
        var first = 0
        var offset = 0
        var count = 0
        // Whether libcurl has found no bytes and must be woken up when bytes arrive.
        var isReaderWaiting = false
        var room: OneShot<Void>?

        mutating func dropFirst() {
            chunks[first] = Data()
            first += 1
            offset = 0
            guard first == chunks.count || first > 64 && first * 2 > chunks.count else { return }
            chunks.removeFirst(first)
            first = 0
        }
    }

    // SAFETY: only the task takes the reader, and takes the reader once.
    private enum Source: @unchecked Sendable {
        case reader(RequestBodyReader)
        case body(RequestBody)

        var isOpen: Bool { if case .reader = self { true } else { false } }

        func open() throws -> RequestBodyReader {
            switch self {
            case .reader(let reader): reader
            case .body(let body): try body.open()
            }
        }
    }

    private let source: Mutex<Source?>
    private let state: Mutex<State>
    private let onFill: @Sendable () -> Void

    private static let highWater = 524_288
    private static let lowWater = 262_144

    convenience init(_ reader: RequestBodyReader, onFill: @escaping @Sendable () -> Void) {
        self.init(.reader(reader), .open, onFill: onFill)
    }

    /// Opens the content in a task, because the caller's code may block.
    convenience init(opening body: RequestBody, onFill: @escaping @Sendable () -> Void) {
        self.init(.body(body), .opening, onFill: onFill)
    }

    private init(_ source: Source, _ phase: Phase, onFill: @escaping @Sendable () -> Void) {
        self.source = Mutex(source)
        self.onFill = onFill
        state = Mutex(State(phase: phase))
    }

    var isOpen: Bool { state.withLock { !$0.phase.isOpening } }

    /// The trailer fields, after ``read(into:)`` has returned 0 bytes.
    var trailers: HTTPHeaders {
        state.withLock { if case .ended(let trailers) = $0.phase { trailers } else { [:] } }
    }

    /// The error that prevents reading the content to the end, or nil.
    var fault: (any Error)? {
        state.withLock { if case .failed(let error) = $0.phase { error } else { nil } }
    }

    func start() {
        let source = source.withLock { source in
            defer { source = nil }
            return source
        }
        guard let source else { return }
        // The task ends with the content, or by `close`, which every end of a transfer calls.
        // If a body is opened again, the current task may be the caller of another transfer.
        let task =
            source.isOpen
            ? Task.inheriting(immediately: false) { [self] in await read(source) }
            : Task.apart { [self] in await read(source) }
        let isClosed = state.withLock { state in
            state.task = task
            return state.phase.isClosed
        }
        if isClosed { task.cancel() }
    }

    private func read(_ source: Source) async {
        do {
            guard let reader = try opened(source) else { return }
            while let chunk = try await reader.nextToSend() { try await write(chunk) }
            finish(.ended(trailers: reader.trailers))
        } catch {
            finish(.failed(error))
        }
    }

    /// Returns nil if the transfer is over.
    private func opened(_ source: Source) throws -> RequestBodyReader? {
        let reader = try source.open()
        let (wasOpening, isClosed) = state.withLock { state in
            let wasOpening = state.phase.isOpening
            if wasOpening { state.phase = .open }
            return (wasOpening, state.phase.isClosed)
        }
        if wasOpening { onFill() }
        return isClosed ? nil : reader
    }

    private func write(_ chunk: Data) async throws {
        let (room, isAwaited) = try state.withLock { state -> (OneShot<Void>?, Bool) in
            if state.phase.isClosed { throw CancellationError() }
            state.chunks.append(chunk)
            state.count += chunk.count
            if state.count >= Self.highWater { state.room = OneShot() }
            defer { state.isReaderWaiting = false }
            return (state.room, state.isReaderWaiting)
        }
        if isAwaited { onFill() }
        if let room { try await room.value { room.settle(.failure(CancellationError())) } }
    }

    private func finish(_ end: Phase) {
        state.withLock { if !$0.phase.isClosed { $0.phase = end } }
        onFill()
    }

    func close() {
        let (task, room) = state.withLock { state in
            state.phase = .closed
            state.chunks = []
            state.first = 0
            defer { state.room = nil }
            return (state.task, state.room)
        }
        room?.settle(.failure(CancellationError()))
        task?.cancel()
    }

    func read(into target: UnsafeMutableRawBufferPointer) -> CurlUpload.Portion {
        let (portion, room) = state.withLock { state -> (CurlUpload.Portion, OneShot<Void>?) in
            let hasEnded: Bool
            switch state.phase {
            case .failed, .closed: return (.failed, nil)
            case .ended: hasEnded = true
            case .opening, .open: hasEnded = false
            }
            var done = 0
            while done < target.count, state.first < state.chunks.count {
                let chunk = state.chunks[state.first]
                let count = min(target.count - done, chunk.count - state.offset)
                let start = chunk.startIndex + state.offset
                let place = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: target[done..<done + count])
                unsafe chunk.copyBytes(to: place, from: start..<start + count)
                done += count
                state.offset += count
                if state.offset == chunk.count { state.dropFirst() }
            }
            state.count -= done
            if done == 0, !hasEnded {
                state.isReaderWaiting = true
                return (.wait, nil)
            }
            guard state.count <= Self.lowWater else { return (.bytes(done), nil) }
            defer { state.room = nil }
            return (.bytes(done), state.room)
        }
        room?.settle(.success(()))
        return portion
    }
}
