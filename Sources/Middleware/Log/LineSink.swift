// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TurnpikeCore
public import TurnpikeSupport

/// Writes lines to a file or another destination on a separate queue.
///
/// The queue is bounded. If the destination is slower than the calls, the sink drops lines and
/// counts the dropped lines. Later, the sink writes a line with the number of dropped lines.
///
/// The sink writes all queued lines when a client with this sink is shut down. The sink also writes
/// the queued lines when the process exits normally (`exit`, or the end of the main function). If
/// the process is killed or traps, the queued lines are lost.
public final class LineSink: LogSink {
    private enum Flow {
        case flowing
        /// The latest flush reached the time limit, and the sink wrote no line after that flush.
        case stuck
    }

    private struct State {
        var flow = Flow.flowing
        var waiting = 0
        var waitingBytes = 0
        var unreported = 0
        var dropped = 0
    }

    private let destination: @Sendable (Data) throws -> Void
    private let capacity: Int
    private let maxBytes: Int
    private let flushLimit: Duration
    // The sink calls the closure after each write, with the error of the write, or with nil.
    private let onWrite: (@Sendable ((any Error)?) -> Void)?
    private let queue = DispatchQueue(label: "turnpike.log", qos: .utility)
    private let state = Mutex(State())

    /// Creates a sink with a closure that writes the lines.
    ///
    /// For example, `LineSink { try handle.write(contentsOf: $0) }` writes to a `FileHandle`.
    /// - Parameters:
    ///   - capacity: The maximum number of lines that wait.
    ///   - maxBytes: The maximum number of bytes of the lines that wait.
    ///   - flushLimit: The longest time that a flush waits if the destination accepts no bytes. The
    ///     exit of the process waits for the same time, but at most 5 seconds. If the latest flush
    ///     has reached its limit and the sink wrote no line after that flush, the exit does not
    ///     wait.
    ///   - destination: Writes lines, including their line breaks. The sink calls this closure on
    ///     the sink's queue.
    public convenience init(
        capacity: Int = 4096, maxBytes: Int = 4_194_304, flushLimit: Duration = .seconds(5),
        to destination: @escaping @Sendable (Data) throws -> Void
    ) {
        self.init(capacity, maxBytes, flushLimit, onWrite: nil, destination)
    }

    private init(
        _ capacity: Int, _ maxBytes: Int, _ flushLimit: Duration,
        onWrite: (@Sendable ((any Error)?) -> Void)?,
        _ destination: @escaping @Sendable (Data) throws -> Void
    ) {
        self.destination = destination
        self.capacity = capacity
        self.maxBytes = maxBytes
        self.flushLimit = flushLimit
        self.onWrite = onWrite
        SinksAtExit.add(self)
    }

    deinit { SinksAtExit.remove(self) }

    /// Creates a sink that appends to a file, and creates a missing file with mode 0600.
    ///
    /// A FIFO that no process reads is refused, because opening the FIFO would block.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - capacity: The maximum number of lines that wait.
    ///   - onWrite: A closure that the sink calls after each write, with the error of the write, or
    ///     nil.
    /// - Throws: An error if the file cannot be opened.
    public convenience init(
        appendingTo path: String, capacity: Int = 4096,
        onWrite: (@Sendable ((any Error)?) -> Void)? = nil
    ) throws {
        let file = try UnnamedFile.appending(to: path)
        self.init(capacity, 4_194_304, .seconds(5), onWrite: onWrite) { try file.append($0) }
    }

    /// The number of lines that the sink has dropped.
    public var dropped: Int { state.withLock { $0.dropped } }

    var waiting: Int { state.withLock { $0.waiting } }

    /// Queues a line, or drops the line if the queue is full.
    public func write(_ line: String) {
        let text = Grammar.escaped(line) + "\n"
        let size = text.utf8.count
        let isTaken = state.withLock { state in
            let isTaken = state.waiting < capacity && state.waitingBytes + size <= maxBytes
            if isTaken {
                state.waiting += 1
                state.waitingBytes += size
            } else {
                state.dropped += 1
                state.unreported += 1
            }
            return isTaken
        }
        guard isTaken else { return }
        queue.async { [self] in
            put(notice() + text)
            state.withLock { state in
                state.waiting -= 1
                state.waitingBytes -= size
                state.flow = .flowing
            }
        }
    }

    /// Returns when all lines queued so far are written, or when the limit ends.
    public func flush() async {
        let isDone = await queue.run(within: flushLimit) { [self] in put(notice()) }
        if !isDone { state.withLock { $0.flow = $0.waiting > 0 ? .stuck : .flowing } }
    }

    // Starts to write all queued lines. The sink leaves the group when the lines are written.
    func flushAtExit() -> (end: DispatchGroup, limit: Duration) {
        let end = DispatchGroup()
        queue.async(group: end) { [self] in put(notice()) }
        return (end, isStuck ? .zero : flushLimit)
    }

    // A signal may have interrupted this thread while the thread held the lock.
    private var isStuck: Bool { state.withLockIfAvailable { $0.flow == .stuck } ?? false }

    private func notice() -> String {
        let count = state.withLock { state in
            defer { state.unreported = 0 }
            return state.unreported
        }
        return count > 0 ? "(\(count) lines dropped)\n" : ""
    }

    private func put(_ text: String) {
        if text.isEmpty { return }
        do {
            try destination(Data(text.utf8))
            onWrite?(nil)
        } catch {
            // If a line cannot be written, no call fails.
            onWrite?(error)
        }
    }
}

extension LogSink where Self == LineSink {
    /// The sink that writes to the standard error of the process.
    public static var standardError: LineSink { StandardError.sink }
}

private enum StandardError {
    static let sink = LineSink { try writeDirectly($0, to: STDERR_FILENO) }
}

/// A destination of log lines.
///
/// Writing must not block; a sink with a slow destination needs a bounded queue, and drops lines
/// when the queue is full.
public protocol LogSink: Sendable {
    /// Takes a line without its line break.
    func write(_ line: String)

    /// Returns when all lines queued so far are written.
    ///
    /// A client calls this method when the client is shut down. If the process exits without a
    /// shutdown of the client, the client does not call this method. A sink with a queue must write
    /// the lines at the exit of the process, as ``LineSink`` does with `atexit`.
    func flush() async
}

/// A sink that stores the latest lines in memory, for tests.
public final class MemoryLogSink: LogSink {
    private let kept = Mutex<[String]>([])
    private let capacity: Int

    /// Creates a sink.
    /// - Parameter capacity: The number of lines that the sink keeps.
    public init(capacity: Int = 10_000) { self.capacity = capacity }

    /// The lines, oldest first.
    public var lines: [String] { kept.withLock { $0 } }

    /// Appends a line, and removes the oldest line if the sink is full.
    public func write(_ line: String) {
        kept.withLock { kept in
            kept.append(line)
            if kept.count > capacity { kept.removeFirst() }
        }
    }

    /// Returns immediately.
    public func flush() async {}
}

/// The sinks whose queued lines are written when the process exits.
///
/// The C library calls ``flush()`` on the thread that exits (`atexit`). The threads of the queues
/// still run at this time.
enum SinksAtExit {
    private struct Entry {
        weak var sink: LineSink?
    }

    private static let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    private static let process: pid_t = {
        atexit { SinksAtExit.flush() }
        return getpid()
    }()

    /// The longest time that an exit waits for all sinks together.
    private static let limit: Duration = .seconds(5)

    static func add(_ sink: LineSink) {
        _ = process
        entries.withLock { $0[ObjectIdentifier(sink)] = Entry(sink: sink) }
    }

    static func remove(_ sink: LineSink) {
        _ = entries.withLock { $0.removeValue(forKey: ObjectIdentifier(sink)) }
    }

    private static func flush() {
        // After `fork`, the child has no threads for the queues, and only the parent writes.
        guard getpid() == process else { return }
        let start = DispatchTime.now()
        // All flushes start before the first wait, because one limit covers all flushes.
        let flushes = sinks().map { $0.flushAtExit() }
        for (end, limit) in flushes {
            let limit = min(limit, Self.limit).wholeNanoseconds
            _ = end.wait(timeout: start + .nanoseconds(Int(limit)))
        }
    }

    // A signal may have interrupted this thread while the thread held the lock.
    private static func sinks() -> [LineSink] {
        for _ in 0..<100 {
            let sinks = entries.withLockIfAvailable { $0.values.compactMap(\.sink) }
            if let sinks { return sinks }
            usleep(1000)
        }
        return []
    }
}
