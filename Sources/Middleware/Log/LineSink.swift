// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TurnpikeCore
public import TurnpikeSupport

/// Writes lines to a file or another destination from its own queue.
///
/// The queue is bounded. If the destination is slower than the calls, lines are dropped and counted,
/// and a line with the count takes their place.
///
/// All queued lines are written when a client that logs to the sink is shut down, and when the
/// process exits normally (`exit`, or the end of its main function) without a shutdown. A process
/// that is killed or traps loses the queued lines.
public final class LineSink: LogSink {
    private enum Flow {
        case flowing
        /// A flush has timed out, and no line has been written since.
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
    // Called with the error if lines cannot be written.
    private let onWrite: (@Sendable ((any Error)?) -> Void)?
    private let queue = DispatchQueue(label: "turnpike.log", qos: .utility)
    private let state = Mutex(State())

    /// Creates a sink.
    ///
    /// With a `FileHandle`: `LineSink { try handle.write(contentsOf: $0) }`.
    /// - Parameters:
    ///   - capacity: How many lines may wait.
    ///   - maxBytes: How many bytes of lines may wait.
    ///   - flushLimit: The longest time that a flush waits if the destination accepts no bytes. The
    ///     exit of the process waits as long, but at most 5 seconds. It does not wait if a flush
    ///     has timed out since the last line was written.
    ///   - destination: Writes lines, with their line breaks; called on the sink's queue.
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

    /// Creates a sink that appends to a file, and creates it with mode 0600 if it is missing.
    ///
    /// A FIFO without a reader is refused, because opening it would wait for one.
    /// - Parameters:
    ///   - path: The file.
    ///   - capacity: How many lines may wait.
    ///   - onWrite: Called after each write, with the error of the write, or nil.
    /// - Throws: An error if the file cannot be opened.
    public convenience init(
        appendingTo path: String, capacity: Int = 4096,
        onWrite: (@Sendable ((any Error)?) -> Void)? = nil
    ) throws {
        let file = try UnnamedFile.appending(to: path)
        self.init(capacity, 4_194_304, .seconds(5), onWrite: onWrite) { try file.append($0) }
    }

    /// How many lines have been dropped so far.
    public var dropped: Int { state.withLock { $0.dropped } }

    /// How many lines wait to be written.
    var waiting: Int { state.withLock { $0.waiting } }

    /// Queues a line, or drops it if the queue is full.
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

    /// Returns when all lines queued so far are written, or after the limit.
    public func flush() async {
        let isDone = await queue.run(within: flushLimit) { [self] in put(notice()) }
        if !isDone { state.withLock { $0.flow = $0.waiting > 0 ? .stuck : .flowing } }
    }

    /// Begins to write all lines queued so far.
    /// - Returns: A group that ends when the lines are written, and the longest wait for it.
    func flushAtExit() -> (end: DispatchGroup, limit: Duration) {
        let end = DispatchGroup()
        queue.async(group: end) { [self] in put(notice()) }
        return (end, isStuck ? .zero : flushLimit)
    }

    // The thread that exits may hold the lock, if a signal has interrupted it.
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
            // No call fails because its line cannot be written.
            onWrite?(error)
        }
    }
}

extension LogSink where Self == LineSink {
    /// The process's standard error.
    public static var standardError: LineSink { StandardError.sink }
}

private enum StandardError {
    static let sink = LineSink { try writeDirectly($0, to: STDERR_FILENO) }
}

/// A destination of log lines.
///
/// Writing must not block: a sink that may wait has a bounded queue, and drops lines beyond it.
public protocol LogSink: Sendable {
    /// Takes a line, without its line break.
    func write(_ line: String)

    /// Returns when all lines queued so far are written.
    ///
    /// Called when a client is shut down, but not when a process exits without a shutdown. A sink
    /// with its own queue must handle such an exit itself, as ``LineSink`` does with `atexit`.
    func flush() async
}

/// Keeps the latest lines in memory, for tests.
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
            kept.append(line)
            if kept.count > capacity { kept.removeFirst() }
        }
    }

    /// Returns at once.
    public func flush() async {}
}

/// The sinks of the process; their queued lines are written when the process exits.
///
/// The C library calls ``flush()`` on the thread that exits (`atexit`), while the threads of the
/// queues still run.
enum SinksAtExit {
    private struct Entry {
        weak var sink: LineSink?
    }

    private static let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    // The process in which the flush is registered, once.
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

    /// Writes the lines of all sinks, or stops after the limit.
    private static func flush() {
        // A child of `fork` has the queues without their threads, so only the parent writes.
        guard getpid() == process else { return }
        let start = DispatchTime.now()
        // All flushes begin before the wait for the first one, so that one limit counts for all.
        let flushes = sinks().map { $0.flushAtExit() }
        for (end, limit) in flushes {
            let limit = min(limit, Self.limit).wholeNanoseconds
            _ = end.wait(timeout: start + .nanoseconds(Int(limit)))
        }
    }

    // The thread that exits may hold the lock, if a signal has interrupted it.
    private static func sinks() -> [LineSink] {
        for _ in 0..<100 {
            let sinks = entries.withLockIfAvailable { $0.values.compactMap(\.sink) }
            if let sinks { return sinks }
            usleep(1000)
        }
        return []
    }
}
