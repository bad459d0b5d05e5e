extension StackBounds {
    /// Computes the worst case of a stack, and which gates bound it: those without which it would be
    /// another.
    init(_ parts: [WorstCase.Part], places: [String], isStreaming: Bool) {
        let all = WorstCase.of(parts)
        let numbers = WorstCase.numbers(parts)
        let without = numbers.map { ($0, WorstCase.of(parts, without: [$0])) }
        // Where two gates set the same limit, neither alone makes a difference. The gates are then
        // left out one after another, innermost first, and the last that made a difference bounds.
        let bare = WorstCase.of([])
        func last(_ read: (WorstCase) -> Amount) -> Int? {
            var absent: Set<Int> = []
            var (before, last) = (read(all), Int?.none)
            for number in numbers.reversed() {
                absent.insert(number)
                let after = read(WorstCase.of(parts, without: absent))
                if after != before { last = number }
                before = after
            }
            return last
        }
        func bound<Value>(
            framework: String? = nil, isLimited: Bool = false, _ read: (WorstCase) -> Amount,
            _ make: (Int64) -> Value
        ) -> StackBound<Value> {
            let amount = read(all)
            var bounding = without.filter { read($0.1) != amount }.map(\.0)
            if bounding.isEmpty, amount != read(bare), let last = last(read) {
                bounding = [last]
            }
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
        sends = bound(
            framework: sendLimit, isLimited: all.sends.inOneCall < all.sends.free,
            { $0.sends.inOneCall }, { $0 })
        head = time { $0.head }
        self.time = isStreaming ? head : time { $0.whole }
        waiting = time { $0.waiting }
        memory = bound(
            framework: "100 MiB of content in memory",
            isLimited: !isStreaming && all.content == .unbounded,
            { isStreaming ? $0.memory : $0.collected + $0.memory }, { $0 })
        disk = bound({ $0.disk }, { $0 })
    }
}

extension WorstCase {
    /// The most bytes of content that a call collects: 100 MiB where no gate sets another limit.
    fileprivate var collected: Amount {
        content == .unbounded ? Amount(104_857_600 as Int64) : content
    }

    /// The numbers of all gates, outermost first.
    fileprivate static func numbers(_ parts: [Part]) -> [Int] {
        parts.flatMap { part in
            switch part {
            case .gate(let number, _): [number]
            case .group(_, _, let parts): numbers(parts)
            }
        }
    }
}
