import Dispatch
public import Foundation
import Synchronization

/// Where log lines go.
///
/// Writing must not block.
public protocol LogSink: Sendable {
    /// Takes a line, without its line break.
    func write(_ line: String)

    /// Returns when all lines taken so far are out.
    func flush() async
}

/// Writes lines to a file descriptor from a queue of its own.
///
/// The queue is bounded: when the descriptor is slower than the calls, lines are dropped and
/// counted, and the count is written in their place.
public final class LineSink: LogSink {
    private struct State {
        var waiting = 0
        var dropped = 0
    }

    private let handle: FileHandle
    private let capacity: Int
    private let queue = DispatchQueue(label: "turnpike.log", qos: .utility)
    private let state = Mutex(State())

    /// Creates a sink that owns a handle.
    /// - Parameters:
    ///   - handle: Where the lines go.
    ///   - capacity: How many lines may wait.
    public init(_ handle: FileHandle, capacity: Int = 4096) {
        self.handle = handle
        self.capacity = capacity
    }

    /// Creates a sink that appends to a file, made with mode 0600 where it is missing.
    public convenience init(appendingTo path: String, capacity: Int = 4096) throws {
        let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        self.init(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true), capacity: capacity)
    }

    /// Takes a line, or drops it where too many wait.
    public func write(_ line: String) {
        let dropped = state.withLock { state -> Int? in
            if state.waiting >= capacity {
                state.dropped += 1
                return nil
            }
            state.waiting += 1
            defer { state.dropped = 0 }
            return state.dropped
        }
        guard let dropped else { return }
        queue.async { [self] in
            let notice = dropped > 0 ? "(\(dropped) lines dropped)\n" : ""
            // Nobody can be told that the log cannot be written.
            try? handle.write(contentsOf: Data((notice + line + "\n").utf8))
            state.withLock { $0.waiting -= 1 }
        }
    }

    /// Returns when all lines taken so far are out.
    public func flush() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}

extension LogSink where Self == LineSink {
    /// The process's standard error.
    public static var standardError: LineSink { StandardError.sink }
}

private enum StandardError {
    static let sink = LineSink(FileHandle.standardError)
}

/// Keeps lines in memory, the latest ones, for tests.
public final class MemoryLogSink: LogSink {
    private let kept = Mutex<[String]>([])
    private let capacity: Int

    /// Creates a sink.
    /// - Parameter capacity: How many lines are kept.
    public init(capacity: Int = 10_000) { self.capacity = capacity }

    /// The lines, oldest first.
    public var lines: [String] { kept.withLock { $0 } }

    /// Keeps a line.
    public func write(_ line: String) {
        kept.withLock { kept in
            if kept.count >= capacity { kept.removeFirst() }
            kept.append(line)
        }
    }

    /// Returns at once.
    public func flush() async {}
}
