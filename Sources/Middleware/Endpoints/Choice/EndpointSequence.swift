// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore

/// The numbers by which round robin goes on, shared by all calls.
final class EndpointSequence: Sendable {
    /// 2⁶⁴ divided by the golden ratio.
    ///
    /// The fractions of its multiples are spread evenly, wherever they begin and however many there
    /// are (Weyl; Knuth, *The Art of Computer Programming* 3, §6.4).
    static let golden: UInt64 = 0x9E37_79B9_7F4A_7C15

    // 0 before the first number.
    private let count: Atomic<UInt64>

    init(startingAt first: UInt64 = 0) { count = Atomic(first) }

    /// Returns the next number; the first one is random, and so is the one after the last.
    func next(_ dice: inout SeededGenerator) -> UInt64 {
        let number = count.wrappingAdd(1, ordering: .relaxed).oldValue
        if number != 0 { return number }
        let first = dice.next()
        // What other calls took meanwhile began at 1.
        count.store(first &+ 1, ordering: .relaxed)
        return first
    }
}
