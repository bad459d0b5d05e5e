// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The random generator of one call, safe to share between its attempts.
public final class CallRandom: Sendable {
    private let source: any RandomSource
    private let call: UInt64
    private let generator = Mutex<(any RandomNumberGenerator & Sendable)?>(nil)
    private let kept = Mutex<Double?>(nil)

    init(source: any RandomSource, call: UInt64) {
        self.source = source
        self.call = call
    }

    /// A number in 0..<1 that is constant for the call and does not affect the results of
    /// ``next()``.
    public var share: Double {
        kept.withLock { kept in
            if let kept { return kept }
            // A separate stream of the random source: the numbers of calls count up from 0.
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
