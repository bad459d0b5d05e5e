// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The source of all randomness in calls: jitter, identifiers, sampling and multipart boundaries.
///
/// A client has one source, which creates a separate generator for each call. With a seeded source,
/// the random choices of each call are reproducible, even if other calls run at the same time.
public protocol RandomSource: Sendable {
    /// Returns a generator for one call.
    /// - Parameter call: The number of the call within the client, starting at 0.
    /// - Returns: The generator.
    func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable
}

extension RandomNumberGenerator {
    /// Returns a uniformly distributed number in 0..<1.
    public mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}

/// The system's cryptographically secure generator.
public struct SystemRandomSource: RandomSource {
    /// Creates the source.
    public init() {}

    /// Returns the system's generator.
    public func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable {
        SystemRandomNumberGenerator()
    }
}

/// A reproducible source for tests and simulations, which must not be used for secrets.
public struct SeededRandomSource: RandomSource {
    private let seed: UInt64

    /// Creates a source; equal seeds produce equal choices.
    public init(seed: UInt64) { self.seed = seed }

    /// Returns a generator that depends only on the seed and the number of the call.
    public func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable {
        SeededGenerator(seed: seed &+ (call &+ 1) &* 0xD134_2543_DE82_EF95)
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014), which is small, fast and reproducible.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator; equal seeds produce equal sequences.
    public init(seed: UInt64) { state = seed }

    /// Returns the next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}

/// The random generator of one call, which the attempts of the call may share.
public final class CallRandom: Sendable {
    private let source: any RandomSource
    private let call: UInt64
    private let generator = Mutex<(any RandomNumberGenerator & Sendable)?>(nil)
    private let kept = Mutex<Double?>(nil)

    init(source: any RandomSource, call: UInt64) {
        self.source = source
        self.call = call
    }

    /// A number in 0..<1 that is constant for the call, and that does not affect ``next()``.
    public var share: Double {
        kept.withLock { kept in
            if let kept { return kept }
            // No call has this number, because the numbers of calls count up from 0.
            var generator = source.generator(forCall: call ^ 1 << 63)
            let share = generator.unit()
            kept = share
            return share
        }
    }

    /// Returns the next 64 random bits.
    public func next() -> UInt64 {
        generator.withLock { generator in
            var current = generator ?? source.generator(forCall: call)
            let bits = current.next()
            generator = current
            return bits
        }
    }

    /// Returns a uniformly distributed number in 0..<1.
    public func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
