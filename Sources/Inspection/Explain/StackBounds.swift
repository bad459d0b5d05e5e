// SPDX-License-Identifier: Apache-2.0

/// The worst case of one call through a stack.
///
/// If the facts of the gates are true, no bound is too small. A bound may be too large. The run
/// time of code does not count.
public struct StackBounds: Sendable, Hashable {
    /// The computed part of the worst case, which depends on the number of gates, also in groups.
    public enum Extent: Sendable, Hashable {
        /// The limits, and the gates that bound each limit.
        case full
        /// Only the limits; for more than 100 gates, ``StackBound/places`` is empty.
        case limits
        /// No bounds, because all limits of a stack with more than 1,000 gates are unknown.
        case nothing
    }

    /// The computed part of the worst case.
    public let extent: Extent
    /// The maximum number of exchanges, including redirects.
    ///
    /// If no retry gate decides, one more send is counted for a repeatable request, because a
    /// reused connection may end before a response. Requests that a gate sends for many calls, such
    /// as a request for a token, do not count.
    public let sends: StackBound<Int64>
    /// The longest time until the caller has the response or the error.
    ///
    /// Unless the call streams, the response includes its content.
    public let time: StackBound<Duration>
    /// The longest time until the head of the response, or the error, arrives.
    public let head: StackBound<Duration>
    /// The longest total time without a running exchange, such as waits for back-off, for permits
    /// and for tokens.
    public let waiting: StackBound<Duration>
    /// The maximum memory in bytes for collected content and for gates.
    ///
    /// If the call streams, only the memory of gates counts.
    public let memory: StackBound<Int64>
    /// The maximum number of bytes that gates store on disk.
    public let disk: StackBound<Int64>
}

/// A maximum for one call, and the gates that bound this maximum.
public struct StackBound<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The largest amount.
    public enum Limit: Sendable, Hashable {
        /// The amount is not larger than this value.
        case atMost(Value)
        /// The amount has no bound.
        case unbounded
        /// The amount depends on a gate without facts, or the stack is too long for bounds
        /// (`StackBounds.Extent.nothing`).
        case unknown
    }

    /// The largest amount.
    public let limit: Limit
    /// The places of the gates whose removal would change the limit, outermost first.
    ///
    /// If the limit is unbounded or unknown, the gates are the cause. The list is empty if no gate
    /// bounds the amount, and for a stack of more than 100 gates (`StackBounds.Extent.limits`).
    public let places: [String]
    /// The limit of the framework that bounds the amount (`12 sends, redirects apart`), or nil.
    public let framework: String?

    /// The largest amount, or nil if the limit is unbounded or unknown.
    public var value: Value? { if case .atMost(let value) = limit { value } else { nil } }
}

extension StackBounds {
    static let maxAttributed = 100
    /// The maximum number of gates for a computation; ``note`` contains this number as text.
    static let maxComputed = 1000

    /// Computes the worst case of a stack, and the gates that affect the worst case.
    ///
    /// For a long stack, only a part is computed (``Extent``). The time for the limits grows with
    /// the number of gates, and the time for the bounding gates with the square of this number.
    init(_ parts: [WorstCase.Part], places: [String], isStreaming: Bool, mayResend: Bool) {
        let extent = Extent(gates: places.count)
        let all = extent == .nothing ? WorstCase.transport : WorstCase.of(parts)
        var absence = Absence(extent == .full ? parts : [])
        func bound<Value>(
            framework: String? = nil, isLimited: Bool = false, _ read: (WorstCase) -> Amount,
            _ make: (Int64) -> Value
        ) -> StackBound<Value> {
            guard extent != .nothing else {
                return StackBound(limit: .unknown, places: [], framework: nil)
            }
            let amount = read(all)
            let bounding = extent == .full ? absence.bounding(amount, read) : []
            let limit: StackBound<Value>.Limit =
                amount == .unbounded
                ? .unbounded : amount.value.map { .atMost(make($0)) } ?? .unknown
            return StackBound(
                limit: limit, places: bounding.map { places[$0] },
                framework: isLimited ? framework : nil)
        }
        let sendLimit = "\(Ledger.sendLimit) sends, not counting redirects"
        func time(_ account: @escaping (WorstCase) -> Ledger) -> StackBound<Duration> {
            bound(
                framework: sendLimit, isLimited: account(all).inOneCall < account(all).free,
                { account($0).inOneCall }, { .nanoseconds($0) })
        }
        self.extent = extent
        func sends(_ worst: WorstCase) -> Ledger {
            mayResend ? worst.sends.then(.oneSend) : worst.sends
        }
        let isLimited = sends(all).inOneCall < sends(all).free
        self.sends = bound(
            framework: isLimited ? sendLimit : "one more if a kept-alive connection ends",
            isLimited: isLimited || mayResend, { sends($0).inOneCall }, { $0 })
        let head = time { $0.head }
        self.head = head
        self.time = isStreaming ? head : time { $0.whole }
        waiting = time { $0.waiting }
        memory = bound(
            framework: "100 MiB of content in memory",
            isLimited: !isStreaming && all.content == .unbounded,
            { isStreaming ? $0.memory : $0.collected + $0.memory }, { $0 })
        disk = bound({ $0.disk }, { $0 })
    }
}

extension StackBounds.Extent {
    fileprivate init(gates count: Int) {
        if count <= StackBounds.maxAttributed {
            self = .full
        } else {
            self = count <= StackBounds.maxComputed ? .limits : .nothing
        }
    }
}

private struct Absence {
    private let parts: [WorstCase.Part]
    private let single: [(number: Int, worst: WorstCase)]
    // The worst cases without the innermost gate, without the two innermost gates, and so on.
    private var growing: [(number: Int, worst: WorstCase)]?

    init(_ parts: [WorstCase.Part]) {
        self.parts = parts
        single = WorstCase.withoutOne(parts)
    }

    /// Returns the numbers of the gates that bound an amount of the whole stack.
    mutating func bounding(_ amount: Amount, _ read: (WorstCase) -> Amount) -> [Int] {
        let bounding = single.filter { read($0.worst) != amount }.map { $0.number }
        if !bounding.isEmpty || amount == read(.transport) { return bounding }
        // If two gates set the same limit, the removal of one gate changes nothing. The gates are
        // therefore removed one after another, starting with the innermost gate. The last gate
        // whose removal changes the amount is the bound.
        var (before, last) = (amount, Int?.none)
        for (number, worst) in withoutMore() {
            let after = read(worst)
            if after != before { last = number }
            before = after
        }
        return last.map { [$0] } ?? []
    }

    private mutating func withoutMore() -> [(number: Int, worst: WorstCase)] {
        if let growing { return growing }
        var absent: Set<Int> = []
        var cases: [(number: Int, worst: WorstCase)] = []
        for (number, _) in single.reversed() {
            absent.insert(number)
            cases.append((number, WorstCase.of(parts, without: absent)))
        }
        growing = cases
        return cases
    }
}

extension WorstCase {
    fileprivate var collected: Amount {
        content == .unbounded ? Amount(104_857_600 as Int64) : content
    }
}
