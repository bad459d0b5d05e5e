// SPDX-License-Identifier: Apache-2.0

/// A number of sends, nanoseconds or bytes: known, unknown, or without a bound.
///
/// Arithmetic never overflows: what is larger than 292 years or 9 exabytes counts as unbounded. An
/// unknown amount may be any, so it is larger than each known one; nothing is larger than an
/// unbounded one.
struct Amount: Comparable, Hashable {
    static let unknown = Amount(code: .max - 1)
    static let unbounded = Amount(code: .max)

    // The two largest codes stand for what has no number.
    private let code: Int64

    private init(code: Int64) { self.code = code }

    /// Creates a known amount; less than nothing is nothing.
    init(_ value: Int64) {
        code = value >= Self.unknown.code ? .max : max(value, 0)
    }

    /// Creates an amount of bytes; nil is unbounded.
    init(_ bytes: Int64?) { self = bytes.map { Amount($0) } ?? .unbounded }

    /// Creates an amount of time in nanoseconds, rounded up; nil is unbounded.
    init(_ time: Duration?) {
        guard let time else {
            self = .unbounded
            return
        }
        let (seconds, attoseconds) = time.components
        guard seconds < 9_000_000_000 else {
            self = .unbounded
            return
        }
        if seconds < 0 || attoseconds < 0 {
            self = Amount(0)
            return
        }
        self = Amount(seconds * 1_000_000_000 + (attoseconds + 999_999_999) / 1_000_000_000)
    }

    /// The number, if it is known and there is one.
    var value: Int64? { code < Self.unknown.code ? code : nil }

    /// How long a response that is given up is read, so that its connection can be used again.
    static let discarding = Amount(100_000_000 as Int64)

    static func < (left: Amount, right: Amount) -> Bool { left.code < right.code }

    static func + (left: Amount, right: Amount) -> Amount {
        guard let first = left.value, let second = right.value else { return max(left, right) }
        let (sum, overflows) = first.addingReportingOverflow(second)
        return overflows ? .unbounded : Amount(sum)
    }

    static func += (left: inout Amount, right: Amount) { left = left + right }

    /// Returns a multiple; nothing of anything is nothing.
    func times(_ count: Int) -> Amount {
        guard count > 0 else { return Amount(0) }
        guard let value else { return self }
        let (product, overflows) = value.multipliedReportingOverflow(by: Int64(count))
        return overflows ? .unbounded : Amount(product)
    }
}
