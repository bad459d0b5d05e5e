// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore

/// The random numbers of the choices of all calls.
///
/// A generator for each call would cost more than the choice. This one is a counter whose numbers
/// are mixed (SplitMix64), which begins with the random source of the first call.
final class EndpointDice: Sendable {
    // 0 before the first number.
    private let count = Atomic<UInt64>(0)

    func next(in context: Context) -> UInt64 {
        let number = count.wrappingAdd(EndpointSequence.golden, ordering: .relaxed).oldValue
        if number != 0 { return EndpointHash.mixed(number) }
        let first = context.random.next() | 1
        count.store(first, ordering: .relaxed)
        return EndpointHash.mixed(first)
    }
}
