// SPDX-License-Identifier: Apache-2.0

/// What one reply may be at most.
struct ReplyLimits: Sendable {
    var maxBytes = 64 << 20
    var maxValues = 1 << 20
    /// The levels of arrays; libhiredis 0.14 reads up to nine.
    var maxDepth = 7
}
