import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// Chunks of one reading of a request's content, on their way from its task to libcurl.
final class UploadPipe: Sendable {
    private struct State {
        var chunks: [Data] = []
        var first = 0
        var offset = 0
        var count = 0
        var hasEnded = false
        // What was to follow the content, once that has ended.
        var trailers: HTTPHeaders = [:]
        var isOpen: Bool
        var isClosed = false
        var fault: (any Error)?
        // The reader's side found nothing, and wants to be told.
        var isWanting = false
        // The task's side found no room.
        var room: OneShot<Void>?
        var task: Task<Void, Never>?

        mutating func dropFirst() {
            chunks[first] = Data()
            first += 1
            offset = 0
            guard first == chunks.count || first > 64 else { return }
            chunks.removeFirst(first)
            first = 0
        }
    }

    // SAFETY: the reader is taken once, by the task.
    private enum Source: @unchecked Sendable {
        case reader(RequestBodyReader)
        case body(RequestBody)

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
        self.init(.reader(reader), isOpen: true, onFill: onFill)
    }

    /// For content that its task is to open: that is a caller's own code, which may wait.
    convenience init(opening body: RequestBody, onFill: @escaping @Sendable () -> Void) {
        self.init(.body(body), isOpen: false, onFill: onFill)
    }

    private init(_ source: Source, isOpen: Bool, onFill: @escaping @Sendable () -> Void) {
        self.source = Mutex(source)
        self.onFill = onFill
        state = Mutex(State(isOpen: isOpen))
    }

    /// Whether the content was opened, or cannot be.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// The trailer fields, once ``read(into:)`` has given 0 bytes.
    var trailers: HTTPHeaders { state.withLock { $0.trailers } }

    var fault: (any Error)? { state.withLock { $0.fault } }

    /// Begins to read the content.
    func start() {
        let source = source.withLock { source in
            defer { source = nil }
            return source
        }
        guard let source else { return }
        // Ends with the content, or is cancelled by `close`, which every end of the transfer calls.
        let task = Task.inheriting(immediately: false) { [self] in
            do {
                guard let reader = try opened(source) else { return }
                while let chunk = try await reader.nextToSend() { try await write(chunk) }
                finish(.success(reader.trailers))
            } catch {
                finish(.failure(error))
            }
        }
        let isClosed = state.withLock { state in
            state.task = task
            return state.isClosed
        }
        if isClosed { task.cancel() }
    }

    /// - Returns: The reader, or nil where nobody wants it any more.
    private func opened(_ source: Source) throws -> RequestBodyReader? {
        let reader = try source.open()
        let (isNews, isClosed) = state.withLock { state in
            defer { state.isOpen = true }
            return (!state.isOpen, state.isClosed)
        }
        if isNews { onFill() }
        return isClosed ? nil : reader
    }

    private func write(_ chunk: Data) async throws {
        let (room, isWanted) = try state.withLock { state -> (OneShot<Void>?, Bool) in
            if state.isClosed { throw CancellationError() }
            state.chunks.append(chunk)
            state.count += chunk.count
            if state.count >= Self.highWater { state.room = OneShot() }
            defer { state.isWanting = false }
            return (state.room, state.isWanting)
        }
        if isWanted { onFill() }
        if let room { try await room.value { room.settle(.failure(CancellationError())) } }
    }

    private func finish(_ end: Result<HTTPHeaders, any Error>) {
        state.withLock { state in
            state.hasEnded = true
            state.isOpen = true
            switch end {
            case .success(let trailers): state.trailers = trailers
            case .failure(is CancellationError) where state.isClosed: break
            case .failure(let error): state.fault = error
            }
        }
        onFill()
    }

    /// Stops reading the content.
    func close() {
        let (task, room) = state.withLock { state in
            state.isClosed = true
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
            if state.fault != nil || state.isClosed { return (.failed, nil) }
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
            if done == 0, !state.hasEnded {
                state.isWanting = true
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
