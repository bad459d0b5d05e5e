// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A logger that provides its events as asynchronous sequences to any number of readers.
///
/// ```swift
/// let monitor = CallMonitor()
/// let client = Client(baseURL: base, stack: [monitor, .deadline(), .retry()])
/// for await event in monitor.events { show(event) }
/// ```
///
/// The monitor receives the events of the gates inside its place in the stack. If a reader is slow,
/// it misses the oldest events. It never delays a call.
public final class CallMonitor: RequestLogger {
    private struct State {
        var nextReader: UInt64 = 0
        var readers: [UInt64: AsyncStream<CallEvent>.Continuation] = [:]
        var isFinished = false
    }

    private let bufferLimit: Int
    private let state = Mutex(State())

    /// Creates a monitor.
    /// - Parameter bufferLimit: How many events are buffered for each reader. If there are more,
    ///   the oldest events are dropped.
    public init(bufferLimit: Int = 1024) { self.bufferLimit = max(bufferLimit, 1) }

    /// The events from now on, until the reader stops or the client is shut down.
    public var events: AsyncStream<CallEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: CallEvent.self, bufferingPolicy: .bufferingNewest(bufferLimit))
        let id = state.withLock { state -> UInt64? in
            if state.isFinished { return nil }
            state.nextReader += 1
            state.readers[state.nextReader] = continuation
            return state.nextReader
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.readers[id] = nil }
        }
        return stream
    }

    /// Sends an event to all readers.
    public func log(_ event: CallEvent) {
        for reader in state.withLock({ Array($0.readers.values) }) { reader.yield(event) }
    }

    /// Ends all sequences.
    public func shutdown() async {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}
