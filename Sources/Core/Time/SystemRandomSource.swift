// SPDX-License-Identifier: Apache-2.0

/// The system's cryptographically secure generator.
public struct SystemRandomSource: RandomSource {
    /// Creates the source.
    public init() {}

    /// Returns the system's generator.
    public func generator(forCall call: UInt64) -> any RandomNumberGenerator & Sendable {
        SystemRandomNumberGenerator()
    }
}
