// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

extension ResponseBody {
    /// Ends the body with ``ClientError/Code/idleTimeout`` if the body stalls or is too slow.
    ///
    /// The time counts only while the reader of the body waits. If several limits are set, the
    /// first exceeded limit ends the body.
    /// - Parameters:
    ///   - limit: The longest wait for a chunk.
    ///   - minBytes: The minimum number of bytes in a window; 0 allows any rate.
    ///   - window: The waiting time over which the rate is measured.
    ///   - timeSource: The clock for the measurement.
    public func limitIdleTime(
        to limit: Duration, minBytes: Int = 0, window: Duration = .seconds(10),
        timeSource: any TimeSource
    ) {
        if storage.arrival != .underWay { return }
        let watch = IdleWatch(
            limit: limit, minBytes: minBytes, window: window, timeSource: timeSource,
            canceller: canceller)
        onPull { watch.begin() }
        onChunk { try watch.end(bytes: $0.count) }
        onEnd { _ in watch.stop() }
    }
}

private final class IdleWatch: Sendable {
    private struct State {
        var timer: (any TimerToken)?
        var began: MonotonicInstant?
        var waited: Duration = .zero
        var bytes = 0
        var hasStopped = false
    }

    private let limit: Duration
    private let minBytes: Int
    private let window: Duration
    private let timeSource: any TimeSource
    private let canceller: ResponseBody.Canceller
    private let state = Mutex(State())

    init(
        limit: Duration, minBytes: Int, window: Duration, timeSource: any TimeSource,
        canceller: ResponseBody.Canceller
    ) {
        self.limit = limit
        self.minBytes = minBytes
        self.window = window
        self.timeSource = timeSource
        self.canceller = canceller
    }

    func begin() {
        let timer = timeSource.schedule(after: limit) { [canceller, limit] in
            canceller.cancel(
                .expired(
                    ClientError(
                        .idleTimeout, "no byte of the body arrived for \(limit.text)",
                        transfer: TransferState(.receiving))))
        }
        let hasStopped = state.withLock { state in
            if !state.hasStopped {
                state.timer = timer
                state.began = timeSource.now
            }
            return state.hasStopped
        }
        if hasStopped { timer.cancel() }
    }

    func end(bytes: Int) throws {
        let (timer, isTooSlow) = state.withLock { state in
            defer {
                state.timer = nil
                state.began = nil
            }
            guard minBytes > 0, let began = state.began else { return (state.timer, false) }
            state.waited += began.duration(to: timeSource.now)
            state.bytes += bytes
            guard state.waited >= window else { return (state.timer, false) }
            defer {
                state.waited = .zero
                state.bytes = 0
            }
            // The last wait may be longer than the rest of the window.
            let wanted = Double(minBytes) * (state.waited.inSeconds / window.inSeconds)
            return (state.timer, Double(state.bytes) < wanted)
        }
        timer?.cancel()
        // A slow body does not end early if all content has arrived by now.
        guard isTooSlow, canceller.isUnderWay else { return }
        throw ClientError(
            .idleTimeout,
            "the body arrived slower than \(minBytes) bytes in \(window.text)",
            transfer: TransferState(.receiving))
    }

    func stop() {
        let timer = state.withLock { state in
            defer { state.timer = nil }
            state.hasStopped = true
            return state.timer
        }
        timer?.cancel()
    }
}
