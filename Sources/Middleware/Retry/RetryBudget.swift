import Synchronization
public import TurnpikeCore

/// What part of all calls may be tried again, for each origin: so that retries cannot turn a small
/// outage into a large one.
///
/// In a window, retries may be a fraction of the calls, and a floor on top that lets a quiet client
/// try at all (the scheme of Finagle and tower). A retry is counted when it is decided, before its
/// back-off, so that those that wait are counted too, and given back if it is never sent.
///
/// One object may serve several clients and hedges.
public final class RetryBudget: Sendable {
    private struct Account {
        // One slot a second, in a ring.
        var slots: [(second: Int64, calls: Int, retries: Int)]
        var lastUse: Int64
    }

    private let ratio: Double
    private let floorPerSecond: Double
    private let windowSeconds: Int
    private let accounts = Mutex<[Origin: Account]>([:])

    private static let maxOrigins = 1024

    /// Creates a budget.
    /// - Parameters:
    ///   - ratio: The retries allowed for each call.
    ///   - window: The time over which calls and retries are counted, in whole seconds.
    ///   - floorPerSecond: The retries a second that are allowed in any case.
    public init(
        ratio: Double = 0.2, window: Duration = .seconds(10), floorPerSecond: Double = 10
    ) {
        self.ratio = Swift.max(ratio, 0)
        self.floorPerSecond = Swift.max(floorPerSecond, 0)
        windowSeconds = Int(Swift.min(Swift.max(window.inSeconds.rounded(), 1), 3600))
    }

    /// Counts a call.
    public func deposit(for origin: Origin?, at now: MonotonicInstant) {
        update(origin, now) { $0.calls += 1 }
    }

    /// Counts a retry, if there is room for it.
    /// - Returns: Whether there is.
    public func withdraw(for origin: Origin?, at now: MonotonicInstant) -> Bool {
        guard let origin else { return true }
        return accounts.withLock { accounts in
            var account = account(origin, now, &accounts)
            let calls = account.slots.reduce(0) { $0 + $1.calls }
            let retries = account.slots.reduce(0) { $0 + $1.retries }
            let allowed = ratio * Double(calls) + floorPerSecond * Double(windowSeconds)
            guard Double(retries + 1) <= allowed else { return false }
            account.slots[slot(now)].retries += 1
            accounts[origin] = account
            return true
        }
    }

    /// Takes a retry back that was counted and not sent.
    public func giveBack(for origin: Origin?, at now: MonotonicInstant) {
        guard let origin else { return }
        accounts.withLock { accounts in
            // The slot it was counted in, or the latest one that has any.
            guard var account = accounts[origin],
                let index = account.slots.indices.filter({ account.slots[$0].retries > 0 })
                    .max(by: { account.slots[$0].second < account.slots[$1].second })
            else { return }
            account.slots[index].retries -= 1
            accounts[origin] = account
        }
    }

    private func update(
        _ origin: Origin?, _ now: MonotonicInstant,
        _ change: (inout (second: Int64, calls: Int, retries: Int)) -> Void
    ) {
        guard let origin else { return }
        accounts.withLock { accounts in
            var account = account(origin, now, &accounts)
            change(&account.slots[slot(now)])
            accounts[origin] = account
        }
    }

    private func second(_ now: MonotonicInstant) -> Int64 { now.nanoseconds / 1_000_000_000 }

    private func slot(_ now: MonotonicInstant) -> Int {
        Int(((second(now) % Int64(windowSeconds)) + Int64(windowSeconds)) % Int64(windowSeconds))
    }

    // The account with slots outside the window emptied; the one unused for longest makes room.
    private func account(
        _ origin: Origin, _ now: MonotonicInstant, _ accounts: inout [Origin: Account]
    ) -> Account {
        let second = second(now)
        var account =
            accounts.removeValue(forKey: origin)
            ?? Account(
                slots: Array(repeating: (second: .min, calls: 0, retries: 0), count: windowSeconds),
                lastUse: second)
        account.lastUse = second
        for index in account.slots.indices
        where account.slots[index].second <= second - Int64(windowSeconds) {
            account.slots[index] = (.min, 0, 0)
        }
        account.slots[slot(now)].second = second
        if accounts.count >= Self.maxOrigins,
            let oldest = accounts.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            accounts[oldest.key] = nil
        }
        accounts[origin] = account
        return account
    }
}
