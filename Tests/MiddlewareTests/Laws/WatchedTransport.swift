// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeTesting

@testable import TurnpikeCore

/// A transport that keeps when each send began and ended, and how often its body ended.
final class WatchedTransport: Transport {
    /// One send: when it began and how it ended.
    struct Send: Sendable {
        let request: Request
        let begin: MonotonicInstant
        var end: MonotonicInstant?
        var head: ResponseHead?
        var error: (any Error)?
        var bodyEnds = 0
    }

    let capabilities = TransportCapabilities(rawValue: .max)
    private let clock: any TimeSource
    private let mock: MockTransport
    private let log = Mutex<[Send]>([])

    init(_ clock: any TimeSource, _ answer: @escaping @Sendable (Request) -> MockResponse) {
        self.clock = clock
        mock = MockTransport(recordLimit: 0) { answer($0) }
    }

    var sends: [Send] { log.withLock { $0 } }

    func send(_ request: Request, context: Context) async throws -> Response {
        let index = log.withLock { log in
            log.append(Send(request: request, begin: clock.now))
            return log.count - 1
        }
        do {
            let response = try await mock.send(request, context: context)
            update(index) { $0.head = response.head }
            response.body.onEnd { [self] _ in update(index) { $0.bodyEnds += 1 } }
            return response
        } catch {
            update(index) { $0.error = error }
            throw error
        }
    }

    func shutdown() async {}

    private func update(_ index: Int, _ change: @Sendable (inout Send) -> Void) {
        log.withLock { log in
            if log[index].end == nil { log[index].end = clock.now }
            change(&log[index])
        }
    }
}
