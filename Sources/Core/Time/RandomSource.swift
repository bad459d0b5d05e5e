// SPDX-License-Identifier: Apache-2.0

/// The source of all randomness in calls: jitter, identifiers, sampling, boundaries.
///
/// A client has one source and derives a generator for each call. With a seeded source, the choices
/// of each call are reproducible, whatever other calls do at the same time.
public protocol RandomSource: Sendable {
    /// Returns a generator for one call.
    /// - Parameter call: The number of the call within its client, starting at 0.
    /// - Returns: The generator.
    func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable
}

extension RandomNumberGenerator {
    /// Returns a uniformly distributed number in 0..<1.
    public mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
