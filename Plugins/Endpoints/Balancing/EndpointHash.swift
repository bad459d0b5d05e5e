// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore

/// Hashes that are the same in each process and on each machine.
///
/// Clients that share a fleet of caches must agree on them. Swift's `Hasher` has another seed in
/// each process. These hashes have none: whoever chooses the keys can aim at one endpoint.
enum EndpointHash {
    /// Returns the hash of a text (FNV-1a, then mixed, so that all bits depend on all bytes).
    static func of(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01B3 }
        return mixed(hash)
    }

    /// Returns the bits mixed (the finalizer of SplitMix64, a bijection).
    @inline(__always)
    static func mixed(_ value: UInt64) -> UInt64 {
        var bits = value
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// Returns a number in 0..<1 from the upper bits of a hash.
    @inline(__always)
    static func unit(_ hash: UInt64) -> Double { Double(hash >> 11) * 0x1p-53 }

    /// Returns -ln(1 - u), which is spread exponentially if u is spread evenly in 0..<1.
    static func exponential(_ unit: Double) -> Double { -log1p(-unit) }
}

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

/// The random numbers of the choices of all calls.
///
/// A generator for each call would cost more than the choice. This one is a counter whose numbers
/// are mixed (SplitMix64), which begins with the random source of the first call.
final class SharedRandom: Sendable {
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
