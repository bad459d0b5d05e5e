// SPDX-License-Identifier: Apache-2.0

extension Range<Int64> {
    /// The number of bytes in the range.
    public var count64: Int64 { upperBound - lowerBound }
}
