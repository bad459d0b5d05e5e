import Synchronization
public import TurnpikeCore

/// What part of all calls may be tried again, for each origin: so that retries cannot turn a small
/// outage into a large one.
///
/// In a window, retries may be a fraction of the calls, and a floor on top that lets a quiet client
/// try at all (the scheme of Finagle and tower). A retry is counted when it is decided, before its
/// back-off, so that those that wait are counted too, and given back if it is never sent.
///
/// One object may serve several clients, and retries and hedges alike: a call is counted once, by
/// whichever of them sees it first. Of more than 1024 origins the one unused for longest is
/// forgotten.
public final class RetryBudget: Sendable {
    private let ratio: Double
    private let floor: Double
    private let accounts: RetryAccounts
    private let meter: (any GateMeter)?

    /// Creates a budget.
    /// - Parameters:
    ///   - ratio: The retries allowed for each call.
    ///   - window: The time over which calls and retries are counted, in whole seconds.
    ///   - floorPerSecond: The retries a second that are allowed in any case.
    ///   - meter: Is told of retries and hedges that found no room
    ///     (`turnpike.retry_budget.refusals`).
    public convenience init(
        ratio: Double = 0.2, window: Duration = .seconds(10), floorPerSecond: Double = 10,
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            RetryAccounts(window: window), ratio: ratio, floorPerSecond: floorPerSecond,
            meter: meter)
    }

    /// Creates a budget over accounts that others draw from too.
    init(
        _ accounts: RetryAccounts, ratio: Double, floorPerSecond: Double = 10,
        meter: (any GateMeter)? = nil
    ) {
        self.accounts = accounts
        self.meter = meter
        self.ratio = Swift.max(ratio, 0)
        floor = Swift.max(floorPerSecond, 0) * Double(accounts.seconds)
    }

    /// Counts a call.
    public func deposit(for origin: Origin?, at now: MonotonicInstant) {
        accounts.update(origin, now) { $0.add(first: 1) }
    }

    /// Counts a retry, if there is room for it.
    /// - Returns: Whether there is.
    public func withdraw(for origin: Origin?, at now: MonotonicInstant) -> Bool {
        let isGranted = accounts.update(origin, now) { [ratio, floor] window in
            let allowed = ratio * Double(window.first) + floor
            guard Double(window.second + 1) <= allowed else { return false }
            window.add(second: 1)
            return true
        }
        if isGranted == false, let meter, let origin {
            meter.add(1, to: "turnpike.retry_budget.refusals", labels: origin.meterLabels)
        }
        return isGranted ?? true
    }

    /// Takes a retry back that was counted and not sent.
    public func giveBack(for origin: Origin?, at now: MonotonicInstant) {
        accounts.update(origin, now) { $0.takeBackSecond() }
    }

    func flush() async { await meter?.flush() }

    /// Tells its accounts from others.
    fileprivate var account: ObjectIdentifier { ObjectIdentifier(accounts) }
}

/// The calls and retries of late, by origin.
final class RetryAccounts: Sendable {
    private struct Account: OriginEntry {
        // Calls and retries.
        var window: SlidingWindow
        var isInUse: Bool { false }
    }

    /// The time over which they are counted.
    let seconds: Int
    private let accounts = Mutex(OriginMap<Account>())

    init(window: Duration = .seconds(10)) {
        seconds = Int(Swift.min(Swift.max(window.inSeconds.rounded(), 1), 3600))
    }

    @discardableResult
    func update<Result: Sendable>(
        _ origin: Origin?, _ now: MonotonicInstant,
        _ change: @Sendable (inout SlidingWindow) -> Result
    ) -> Result? {
        guard let origin else { return nil }
        return accounts.withLock { accounts in
            accounts.update(origin, orMake: newAccount) { account in
                account.window.advance(to: now)
                return change(&account.window)
            }
        }
    }

    private var newAccount: Account {
        Account(window: SlidingWindow(span: .seconds(seconds), slots: seconds))
    }
}

/// The budgets that a hedge has counted the call in: the retry around or inside it does not again.
private enum HedgedBudgets: ContextKey {
    static var defaultValue: [ObjectIdentifier] { [] }
}

extension RetryBudget {
    /// Counts a call for a hedge, once for all of its passes.
    func depositForHedge(_ origin: Origin?, in context: Context) {
        let counted = context[HedgedBudgets.self]
        if counted.contains(account) { return }
        context[HedgedBudgets.self] = counted + [account]
        deposit(for: origin, at: context.timeSource.now)
    }

    /// Counts a call for a retry, unless a hedge did.
    func depositForRetry(_ origin: Origin?, in context: Context) {
        if context[HedgedBudgets.self].contains(account) { return }
        deposit(for: origin, at: context.timeSource.now)
    }
}
