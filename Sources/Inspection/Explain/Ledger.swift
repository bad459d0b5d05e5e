// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The largest amount (sends, nanoseconds or bytes) for each number of remaining sends.
///
/// The framework passes a call to the transport at most 12 times, not counting redirects. All gates
/// share this limit, and two nested retry gates of 6 attempts make 12 attempts, not 36. The worst
/// case therefore has one amount for each number of remaining sends. If two parts of a stack run
/// one after the other, the parts share the sends in the worst way (a convolution in the algebra of
/// maximum and sum).
struct Ledger: Hashable {
    /// The maximum number of sends of one call, not counting redirects.
    static let sendLimit = Client.sendLimit

    // The largest amount with at most this number of sends.
    private var counted: [Amount]
    private(set) var free: Amount

    private init(counted: [Amount], free: Amount) {
        self.counted = counted
        self.free = free
    }

    private init(withoutSend: Amount, withOne: Amount) {
        counted = [withoutSend] + Array(repeating: withOne, count: Self.sendLimit)
        free = withOne
    }

    /// The amount is zero for any number of sends.
    static let nothing = Ledger(withoutSend: Amount(0), withOne: Amount(0))
    /// The amount is one if a send is left, and zero if no send is left.
    static let oneSend = Ledger(withoutSend: Amount(0), withOne: Amount(1))
    /// The amount is unbounded if a send is left, and zero if no send is left.
    static let endless = Ledger(withoutSend: Amount(0), withOne: .unbounded)

    var inOneCall: Amount { counted[Self.sendLimit] }

    func adding(_ amount: Amount) -> Ledger { map { $0 + amount } }

    func limited(to limit: Amount) -> Ledger { map { min($0, limit) } }

    func larger(_ other: Ledger) -> Ledger { zip(other) { max($0, $1) } }

    /// Both parts run at the same time, and each part may use all remaining sends.
    func beside(_ other: Ledger) -> Ledger { zip(other) { $0 + $1 } }

    /// One part runs after the other part.
    func then(_ next: Ledger) -> Ledger {
        if next == .nothing { return self }
        return Ledger(counted: Self.convolve(counted, next.counted), free: free + next.free)
    }

    /// The same part runs several times, one run after another.
    func repeated(_ times: Int) -> Ledger {
        if times == 1 || self == .nothing { return self }
        return Ledger(counted: Self.power(counted, times), free: free.times(times))
    }

    /// The same part runs again until no send is left.
    var repeatedWithoutEnd: Ledger { repeated(upTo: .unbounded) }

    var repeatedUnknown: Ledger { repeated(upTo: .unknown) }

    private func repeated(upTo end: Amount) -> Ledger {
        guard counted[0] == Amount(0) else { return map { max($0, end) } }
        // An amount that is zero without a send occurs at most once for each send.
        var endless = repeated(Self.sendLimit)
        if free > Amount(0) { endless.free = max(free, end) }
        return endless
    }

    /// The inner part runs once for each redirect, and once for the last response.
    ///
    /// The result is the largest sum of all runs. Each run uses one send of the limit, and a
    /// redirect from a server returns this send. A redirect from a store
    /// returns a send that was not used, and a later run may therefore exceed the limit.
    func redirected(_ hops: Int, to last: Ledger, _ isCounted: Bool) -> Ledger {
        if self == .nothing, last == .nothing { return self }
        let end = free.times(hops) + last.free
        // An exact figure for more redirects is not necessary.
        guard hops <= 128 else { return map { _ in end } }
        func beyond(_ ledger: Ledger) -> [Amount] {
            let rest = isCounted ? ledger.inOneCall : ledger.free
            return ledger.counted + Array(repeating: rest, count: hops)
        }
        let all = Self.convolve(Self.power(beyond(self), hops), beyond(last))
        return Ledger(counted: Array(all[hops...]), free: end)
    }

    private func map(_ change: (Amount) -> Amount) -> Ledger {
        Ledger(counted: counted.map(change), free: change(free))
    }

    private func zip(_ other: Ledger, _ join: (Amount, Amount) -> Amount) -> Ledger {
        Ledger(
            counted: Swift.zip(counted, other.counted).map { join($0, $1) },
            free: join(free, other.free))
    }

    private static func convolve(_ first: [Amount], _ second: [Amount]) -> [Amount] {
        var result = first
        for sum in first.indices {
            var most = first[0] + second[sum]
            var taken = 1
            // The loop can end early, because no amount is larger than an unbounded amount.
            while taken <= sum, most < .unbounded {
                most = max(most, first[taken] + second[sum - taken])
                taken += 1
            }
            result[sum] = most
        }
        return result
    }

    // The power is computed by squaring, which takes twenty steps for a million attempts.
    private static func power(_ base: [Amount], _ times: Int) -> [Amount] {
        var (result, square, rest) = (base.map { _ in Amount(0) }, base, max(times, 0))
        while rest > 0 {
            if rest & 1 == 1 { result = convolve(result, square) }
            rest >>= 1
            if rest > 0 { square = convolve(square, square) }
        }
        return result
    }
}

/// A known number of sends, nanoseconds or bytes, or an unknown or unbounded amount.
///
/// Arithmetic never overflows, because more than 292 years or 9 exabytes count as unbounded. An
/// unknown amount is larger than each known amount. An unbounded amount is larger than all other
/// amounts.
struct Amount: Comparable, Hashable {
    static let unknown = Amount(code: .max - 1)
    static let unbounded = Amount(code: .max)

    // The two largest codes mean unknown and unbounded.
    private let code: Int64

    private init(code: Int64) { self.code = code }

    init(_ value: Int64) {
        code = value >= Self.unknown.code ? .max : max(value, 0)
    }

    init(_ bytes: Int64?) { self = bytes.map { Amount($0) } ?? .unbounded }

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

    var value: Int64? { code < Self.unknown.code ? code : nil }

    /// The maximum time for reading an abandoned response.
    static let discarding = Amount(100_000_000 as Int64)

    static func < (left: Amount, right: Amount) -> Bool { left.code < right.code }

    static func + (left: Amount, right: Amount) -> Amount {
        guard let first = left.value, let second = right.value else { return max(left, right) }
        let (sum, overflows) = first.addingReportingOverflow(second)
        return overflows ? .unbounded : Amount(sum)
    }

    static func += (left: inout Amount, right: Amount) { left = left + right }

    /// Returns a multiple of the amount; zero times any amount is zero.
    func times(_ count: Int) -> Amount {
        guard count > 0 else { return Amount(0) }
        guard let value else { return self }
        let (product, overflows) = value.multipliedReportingOverflow(by: Int64(count))
        return overflows ? .unbounded : Amount(product)
    }
}
