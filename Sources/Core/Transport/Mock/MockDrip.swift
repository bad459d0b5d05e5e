import Foundation
import Synchronization

/// Feeds an exchange with chunks as time passes, whether or not they are read.
final class MockDrip: Sendable {
    private struct State {
        var chunks: ArraySlice<Data>
        var timer: (any TimerToken)?
    }

    private let interval: Duration
    private let failure: (any Error)?
    private let trailers: HTTPHeaders
    private let timeSource: any TimeSource
    private let state: Mutex<State>

    /// Creates a body whose chunks begin to arrive now.
    static func body(
        of chunks: [Data], every interval: Duration, thenThrow failure: (any Error)?,
        trailers: HTTPHeaders, in context: Context
    ) -> ResponseBody {
        let drip = MockDrip(
            chunks, every: interval, thenThrow: failure, trailers: trailers,
            timeSource: context.timeSource)
        let exchange = Exchange(context: context, flow: .pausing(highWater: .max)) { _ in
            drip.stop()
        }
        drip.feed(exchange)
        return ResponseBody(
            storage: ResponseBodyStorage(.exchange(exchange), length: nil, encodedLength: nil))
    }

    private init(
        _ chunks: [Data], every interval: Duration, thenThrow failure: (any Error)?,
        trailers: HTTPHeaders, timeSource: any TimeSource
    ) {
        state = Mutex(State(chunks: chunks[...]))
        self.interval = interval
        self.failure = failure
        self.trailers = trailers
        self.timeSource = timeSource
    }

    /// Feeds the chunks that are due now, and each of the others at its time.
    private func feed(_ exchange: Exchange) {
        if interval == .zero {
            while feedNext(to: exchange) {}
        } else {
            wait(for: exchange)
        }
    }

    private func stop() { state.withLock { $0.timer.take() }?.cancel() }

    private func wait(for exchange: Exchange) {
        state.withLock { state in
            state.timer = timeSource.schedule(after: interval) { [self] in
                if feedNext(to: exchange) { wait(for: exchange) }
            }
        }
        // The exchange may have been given up before the timer was kept.
        if exchange.hasEnded { stop() }
    }

    /// Feeds the next chunk, or the end.
    /// - Returns: Whether more is to come.
    private func feedNext(to exchange: Exchange) -> Bool {
        if exchange.hasEnded { return false }
        if let chunk = state.withLock({ $0.chunks.popFirst() }) {
            exchange.receive(chunk)
            return true
        }
        if let failure {
            exchange.fail(failure)
        } else {
            exchange.receive(trailers: trailers)
            exchange.finish()
        }
        return false
    }
}
