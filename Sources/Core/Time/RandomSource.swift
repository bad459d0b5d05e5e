/// Where all chance in a call comes from: jitter, identifiers, sampling, boundaries.
///
/// A client has one and splits it for each call, so that with a seed each call's choices repeat
/// whatever other calls do meanwhile.
public protocol RandomSource: Sendable {
    /// A generator for one call.
    /// - Parameter call: The call's number within its client, from 0.
    /// - Returns: The generator.
    func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable
}

/// The system's cryptographically secure generator.
public struct SystemRandomSource: RandomSource {
    /// Creates the source.
    public init() {}

    /// The system's generator.
    public func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable {
        SystemRandomNumberGenerator()
    }
}

/// A reproducible source for tests and simulations.
///
/// It is not fit for secrets.
public struct SeededRandomSource: RandomSource {
    private let seed: UInt64

    /// Creates a source; equal seeds give equal choices.
    public init(seed: UInt64) { self.seed = seed }

    /// A generator that depends on the seed and the call's number alone.
    public func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable {
        SeededGenerator(seed: seed &+ (call &+ 1) &* 0xD134_2543_DE82_EF95)
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): small, fast, reproducible.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator; equal seeds give equal sequences.
    public init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}

extension RandomNumberGenerator {
    /// A number in 0..<1, uniformly.
    package mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
