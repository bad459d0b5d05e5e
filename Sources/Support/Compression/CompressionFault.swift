// SPDX-License-Identifier: Apache-2.0

/// Why bytes could not be compressed or inflated.
public enum CompressionFault: Error, Equatable {
    /// The system has no zlib, or an incompatible one.
    case noLibrary
    /// The bytes do not have the format.
    case corrupt
}
