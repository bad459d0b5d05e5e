// SPDX-License-Identifier: Apache-2.0

import Foundation

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
