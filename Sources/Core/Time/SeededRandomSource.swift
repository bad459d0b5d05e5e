// SPDX-License-Identifier: Apache-2.0

/// A reproducible source for tests and simulations.
///
/// It must not be used for secrets.
public struct SeededRandomSource: RandomSource {
    private let seed: UInt64

    /// Creates a source; equal seeds produce equal choices.
    public init(seed: UInt64) { self.seed = seed }

    /// Returns a generator that depends only on the seed and the number of the call.
    public func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable {
        SeededGenerator(seed: seed &+ (call &+ 1) &* 0xD134_2543_DE82_EF95)
    }
}
