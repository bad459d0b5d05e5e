// SPDX-License-Identifier: Apache-2.0

/// A framing of compressed bytes, named like its content coding (RFC 9110 §8.4.1).
public enum CompressionFormat: String, Sendable, CaseIterable {
    /// gzip (RFC 1952).
    case gzip
    /// The framing of zlib (RFC 1950), which HTTP calls deflate.
    case deflate
}
