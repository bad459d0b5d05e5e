// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// What remains to be done after unlocking, because it runs code of others.
struct QuotaEffects {
    var served: [Waiter] = []
    var failed: [(waiter: Waiter, error: ClientError)] = []
    var timers: [any TimerToken] = []
    var wake: OneShot<Void>?
    /// Whether a driver is to be started.
    var startsDriver = false

    /// How many calls no longer wait.
    var settledCount: Int { served.count + failed.count }

    func perform() {
        for timer in timers { timer.cancel() }
        wake?.settle(.success(()))
        for waiter in served { waiter.turn.settle(.success(())) }
        for (waiter, error) in failed { waiter.turn.settle(.failure(error)) }
    }
}
