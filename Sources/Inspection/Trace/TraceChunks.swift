// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Chunks of a response's content that were read one after another.
///
/// A trace keeps a bounded number of these per exchange: when there are too many, the oldest are
/// merged.
public struct TraceChunks: Sendable, Hashable {
    /// The time from the beginning of the call to the first of the chunks.
    public var start: Duration { .nanoseconds(startNanoseconds) }
    /// The time from the beginning of the call to the last of the chunks.
    public var end: Duration { .nanoseconds(endNanoseconds) }
    /// The number of bytes.
    public let bytes: Int64
    /// The number of chunks.
    public let count: Int

    private let startNanoseconds: Int64
    private let endNanoseconds: Int64

    init(start: Duration, end: Duration, bytes: Int64, count: Int) {
        startNanoseconds = start.wholeNanoseconds
        endNanoseconds = end.wholeNanoseconds
        self.bytes = bytes
        self.count = count
    }
}
