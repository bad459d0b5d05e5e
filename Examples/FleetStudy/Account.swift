// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike
import TurnpikeCore

/// The server that sets the quota.
///
/// It counts requests, and answers those above the quota with 429.
final class Account: Sendable {
    private struct State {
        var arrivals: [Double] = []
        var refusals = 0
        // How many requests may come at once, and the time for which this is known.
        var left: Double
        var since = 0.0
    }

    private let scenario: Scenario
    private let clock: any TimeSource
    private let state: Mutex<State>

    /// Creates a server.
    init(_ scenario: Scenario, clock: any TimeSource) {
        self.scenario = scenario
        self.clock = clock
        state = Mutex(State(left: Double(scenario.burst)))
    }

    /// A transport to the server, which takes 20 ms.
    var transport: MockTransport {
        MockTransport(recordLimit: 0) { [self] _ in
            (admit() ? MockResponse.ok() : .status(429)).delayed(by: .milliseconds(20))
        }
    }

    /// The seconds at which requests arrived.
    var arrivals: [Double] { state.withLock { $0.arrivals } }

    /// How many requests were refused.
    var refusals: Int { state.withLock { $0.refusals } }

    private func admit() -> Bool {
        let now = Double(clock.now.nanoseconds) / 1e9
        return state.withLock { state in
            state.arrivals.append(now)
            let come = (now - state.since) * scenario.quota
            state.left = min(state.left + come, Double(scenario.burst))
            state.since = now
            // Reserved permits may arrive slightly apart, and in another order.
            guard state.left > -1 else {
                state.refusals += 1
                return false
            }
            state.left -= 1
            return true
        }
    }
}
