// SPDX-License-Identifier: Apache-2.0

/// The worst case of one call through a stack.
///
/// A bound is never too small, as long as the gates' facts are true. A bound may be too large. The
/// time of running code is not counted.
public struct StackBounds: Sendable, Hashable {
    /// How much is computed.
    ///
    /// The extent depends on the number of gates, including those of groups.
    public enum Extent: Sendable, Hashable {
        /// The limits, and the gates that bound them.
        case full
        /// Only the limits. With more than 100 gates, no bound has places.
        case limits
        /// Nothing. With more than 1,000 gates, all limits are unknown.
        case nothing
    }

    /// How much of the worst case is computed.
    public let extent: Extent
    /// The most exchanges, redirects included.
    ///
    /// If no retry decides, one more send is counted for a repeatable request, because its
    /// kept-alive connection may end before an answer. A request that a gate sends for many calls,
    /// such as a request for a token, is not counted.
    public let sends: StackBound<Int64>
    /// The longest time until the caller has the response or the error.
    ///
    /// The response includes its content, unless the call streams.
    public let time: StackBound<Duration>
    /// The longest time until the head of the response, or the error, has come.
    public let head: StackBound<Duration>
    /// The longest total time without an exchange of the call under way: waits for back-off, in
    /// lines and for tokens.
    public let waiting: StackBound<Duration>
    /// The most bytes in memory: collected content, and the memory of gates.
    ///
    /// For a call that streams, the amount is only the memory of gates.
    public let memory: StackBound<Int64>
    /// The most bytes that gates hold on disk.
    public let disk: StackBound<Int64>
}

/// A maximum for one call, and the gates that bound it.
public struct StackBound<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The largest amount.
    public enum Limit: Sendable, Hashable {
        /// This amount at most.
        case atMost(Value)
        /// The amount has no bound.
        case unbounded
        /// The amount depends on a gate that states no facts, or the stack is too long for bounds
        /// (`StackBounds.Extent.nothing`).
        case unknown
    }

    /// The largest amount.
    public let limit: Limit
    /// The places of the gates whose removal would change the limit, outermost first.
    ///
    /// If a limit is unbounded or unknown, these gates are the cause. If the list is empty, no gate
    /// bounds the amount. Empty for a stack of more than 100 gates (`StackBounds.Extent.limits`).
    public let places: [String]
    /// The limit of the framework that affects the amount, or nil: `12 sends, redirects apart`.
    public let framework: String?

    /// The largest amount, or nil if the amount is unbounded or unknown.
    public var value: Value? { if case .atMost(let value) = limit { value } else { nil } }
}

extension StackBounds {
    /// The most gates for which each gate is left out once, to find the bounding gates.
    static let maxAttributed = 100
    /// The largest number of gates for which the worst case is computed; ``note`` has the number.
    static let maxComputed = 1000

    /// Computes the worst case of a stack, and the gates that affect it.
    ///
    /// For a long stack, less is computed (``Extent``). The time for the limits grows with the
    /// number of gates. The time to find the bounding gates grows with the square of this number.
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
        let sendLimit = "\(Ledger.sendLimit) sends, redirects apart"
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
            framework: isLimited ? sendLimit : "one more where a kept-alive connection ends",
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

/// The worst cases of a stack without some gates.
private struct Absence {
    private let parts: [WorstCase.Part]
    /// The worst case without each one of the gates, outermost first.
    private let single: [(number: Int, worst: WorstCase)]
    // The worst case without the innermost gate, without two, and so on; computed when needed.
    private var growing: [(number: Int, worst: WorstCase)]?

    init(_ parts: [WorstCase.Part]) {
        self.parts = parts
        single = WorstCase.withoutOne(parts)
    }

    /// Returns the numbers of the gates that bound an amount of the whole stack.
    mutating func bounding(_ amount: Amount, _ read: (WorstCase) -> Amount) -> [Int] {
        let bounding = single.filter { read($0.worst) != amount }.map { $0.number }
        if !bounding.isEmpty || amount == read(.transport) { return bounding }
        // If two gates set the same limit, leaving out one of them makes no difference. So the
        // gates are left out one after another, innermost first. The last gate whose removal makes
        // a difference is the bound.
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
    /// The most bytes of content that a call collects: 100 MiB if no gate sets another limit.
    fileprivate var collected: Amount {
        content == .unbounded ? Amount(104_857_600 as Int64) : content
    }
}
