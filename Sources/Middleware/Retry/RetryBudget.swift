// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Limits retries to a share of the calls to each origin, so that retries cannot turn a small
/// outage into a large one.
///
/// Within a window, a client may retry a fraction of its calls, plus a fixed number, so that a
/// client with few calls can retry too (the scheme of Finagle and tower). A retry is counted when
/// it is decided, before its back-off, so that waiting retries count too. The retry is returned to
/// the budget if it is never sent.
///
/// One budget may serve several clients, and both retries and hedges. A call is counted once, by
/// the gate that sees it first. The budget keeps the counts of 1024 origins; beyond that, it drops
/// the counts of the least recently used origin.
public final class RetryBudget: Sendable {
    private let ratio: Double
    private let floor: Double
    private let accounts: Accounts
    private let meter: (any GateMeter)?

    private static let refusals = "turnpike.retry_budget.refusals"

    /// Creates a budget.
    /// - Parameters:
    ///   - ratio: The retries allowed for each call.
    ///   - window: The time over which calls and retries are counted, in whole seconds.
    ///   - floorPerSecond: The retries per second that are always allowed.
    ///   - meter: Counts refused retries and hedges (`turnpike.retry_budget.refusals`).
    public convenience init(
        ratio: Double = 0.2, window: Duration = .seconds(10), floorPerSecond: Double = 10,
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            Accounts(window: window), ratio: ratio, floorPerSecond: floorPerSecond,
            meter: meter)
    }

    /// Creates a budget with another ratio that counts the same calls and retries.
    /// - Parameters:
    ///   - accounts: The calls and retries.
    ///   - ratio: The retries allowed for each call.
    ///   - floorPerSecond: The retries per second that are always allowed.
    ///   - meter: Counts refused retries and hedges (`turnpike.retry_budget.refusals`).
    public init(
        _ accounts: Accounts, ratio: Double = 0.2, floorPerSecond: Double = 10,
        meter: (any GateMeter)? = nil
    ) {
        self.accounts = accounts
        self.meter = meter
        meter?.describe(
            Self.refusals, as: "Retries and hedges that a retry budget did not allow.")
        self.ratio = Swift.max(ratio, 0)
        floor = Swift.max(floorPerSecond, 0) * Double(accounts.seconds)
    }

    /// Counts a call.
    func deposit(for origin: Origin?, at now: MonotonicInstant) {
        accounts.update(origin, now) { $0.add(first: 1) }
    }

    /// Counts a retry or a copy, if there is room for it.
    /// - Returns: Whether there was room.
    public func withdraw(for origin: Origin?, at now: MonotonicInstant) -> Bool {
        let isGranted = accounts.update(origin, now) { [ratio, floor] window in
            let allowed = ratio * Double(window.first) + floor
            guard Double(window.second + 1) <= allowed else { return false }
            window.add(second: 1)
            return true
        }
        if isGranted == false, let meter, let origin {
            meter.add(1, to: Self.refusals, labels: origin.meterLabels)
        }
        return isGranted ?? true
    }

    /// Takes back a retry or a copy that was counted but not sent.
    public func giveBack(for origin: Origin?, at now: MonotonicInstant) {
        accounts.update(origin, now) { $0.takeBackSecond() }
    }

    /// Flushes the meter.
    public func flush() async { await meter?.flush() }

    func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        accounts.accounts.withLock { [ratio, floor] accounts in
            accounts.compactMap { origin, account in
                var window = account.window
                window.advance(to: now.nanoseconds)
                if window.first + window.second == 0 { return nil }
                let isSpent = !(Double(window.second + 1) <= ratio * Double(window.first) + floor)
                let text = "\(window.second) retries, \(window.first) calls"
                return LiveFigure(
                    "retry budget of \(origin)", text + (isSpent ? ", spent" : ""),
                    isTrouble: isSpent)
            }
        }
    }

    /// Identifies the accounts.
    fileprivate var account: ObjectIdentifier { ObjectIdentifier(accounts) }
}

extension RetryBudget {
    /// The recent calls and retries, by origin.
    public final class Accounts: Sendable {
        /// The time over which they are counted, in seconds.
        let seconds: Int
        fileprivate let accounts = Mutex(BoundedMap<Origin, Account>())

        /// Creates accounts.
        /// - Parameter window: The time over which calls and retries are counted, in whole seconds.
        public init(window: Duration = .seconds(10)) {
            seconds = Int(Swift.min(Swift.max(window.inSeconds.rounded(), 1), 3600))
        }
    }
}

private struct Account: BoundedMapEntry {
    // Its first count is calls, its second retries.
    var window: SlidingWindow
    var isInUse: Bool { false }
}

extension RetryBudget.Accounts {
    @discardableResult
    fileprivate func update<Result: Sendable>(
        _ origin: Origin?, _ now: MonotonicInstant,
        _ change: @Sendable (inout SlidingWindow) -> Result
    ) -> Result? {
        guard let origin else { return nil }
        return accounts.withLock { accounts in
            accounts.update(origin, orMake: newAccount) { account in
                account.window.advance(to: now.nanoseconds)
                return change(&account.window)
            }
        }
    }

    private var newAccount: Account {
        Account(window: SlidingWindow(span: .seconds(seconds), slots: seconds))
    }
}

/// The budgets in which a hedge has counted the call, so that no retry counts it again.
private enum HedgedBudgets: ContextKey {
    static var defaultValue: [ObjectIdentifier] { [] }
}

extension RetryBudget {
    /// Counts a call for a gate that sends copies, once for all passes; a ``Retry`` with the same
    /// budget does not count it again.
    public func deposit(for origin: Origin?, in context: Context) {
        let counted = context[HedgedBudgets.self]
        if counted.contains(account) { return }
        context[HedgedBudgets.self] = counted + [account]
        deposit(for: origin, at: context.timeSource.now)
    }

    /// Counts a call for a retry, unless a hedge has counted it.
    func depositForRetry(_ origin: Origin?, in context: Context) {
        if context[HedgedBudgets.self].contains(account) { return }
        deposit(for: origin, at: context.timeSource.now)
    }
}
