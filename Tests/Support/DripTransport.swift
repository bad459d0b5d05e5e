// SPDX-License-Identifier: Apache-2.0

package import Foundation
import Synchronization
package import TurnpikeCore

/// A transport whose chunks arrive at their times, read or not, as those of a server do.
///
/// Those of a `MockTransport` arrive as they are read.
package final class DripTransport: Transport, PromptlyCancellable {
    package let capabilities = TransportCapabilities(rawValue: .max)
    private let chunks: [Data]
    private let headers: HTTPHeaders
    private let interval: Duration
    private let failure: (any Error)?
    private let sends = Tally()

    /// Creates a transport.
    /// - Parameters:
    ///   - chunks: The chunks of each response.
    ///   - headers: The header fields.
    ///   - interval: The time before each chunk, on the client's time source.
    ///   - failure: What breaks the content off behind the last chunk; nil ends it well.
    package init(
        _ chunks: [Data], headers: HTTPHeaders = [:], every interval: Duration = .zero,
        thenThrow failure: (any Error)? = nil
    ) {
        self.chunks = chunks
        self.headers = headers
        self.interval = interval
        self.failure = failure
    }

    /// How many requests were sent.
    package var sentCount: Int { sends.count }

    package func send(_ request: Request, context: Context) async throws -> Response {
        sends.add()
        let drip = Drip(chunks[...], every: interval, thenThrow: failure, context.timeSource)
        let exchange = Exchange(context: context, flow: .pausing(highWater: .max)) { _ in
            drip.stop()
        }
        exchange.receive(
            Exchange.Head(ResponseHead(status: .ok, headers: headers, url: request.url)))
        drip.feed(exchange)
        return try await exchange.response()
    }

    package func shutdown() async {}
}

/// Feeds one exchange with chunks as time passes.
private final class Drip: Sendable {
    private let chunks: Mutex<ArraySlice<Data>>
    private let timer = Mutex<(any TimerToken)?>(nil)
    private let interval: Duration
    private let failure: (any Error)?
    private let timeSource: any TimeSource

    init(
        _ chunks: ArraySlice<Data>, every interval: Duration, thenThrow failure: (any Error)?,
        _ timeSource: any TimeSource
    ) {
        self.chunks = Mutex(chunks)
        self.interval = interval
        self.failure = failure
        self.timeSource = timeSource
    }

    /// Feeds the chunks that are due now, and each of the others at its time.
    func feed(_ exchange: Exchange) {
        if interval == .zero { while feedNext(to: exchange) {} } else { wait(for: exchange) }
    }

    func stop() { timer.withLock { $0.take() }?.cancel() }

    private func wait(for exchange: Exchange) {
        timer.withLock { timer in
            timer = timeSource.schedule(after: interval) { [self] in
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
        if let chunk = chunks.withLock({ $0.popFirst() }) {
            exchange.receive(chunk)
            return true
        }
        if let failure { exchange.fail(failure) } else { exchange.finish() }
        return false
    }
}
