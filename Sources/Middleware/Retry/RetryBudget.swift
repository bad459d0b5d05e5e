// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Limits retries to a share of the calls to each origin.
///
/// The limit prevents that retries make an outage worse. Within a window, a client may retry a
/// fraction of its calls, plus a fixed number of calls per second. The fixed number allows a client
/// with few calls to retry. Finagle and tower use the same scheme. The budget counts a retry when
/// the gate decides to retry, and therefore includes retries that wait. If the gate does not send
/// the retry, the gate returns the retry to the budget.
///
/// Several clients may share one budget, and hedges may use the same budget. The first gate with
/// the budget that gets a call counts the call. The budget stores the counts of 1024 origins. A
/// further origin replaces the least recently used origin.
public final class RetryBudget: Sendable {
    private let ratio: Double
    private let floor: Double
    private let accounts: Accounts
    private let meter: (any GateMeter)?

    private static let refusals = "turnpike.retry_budget.refusals"

    /// Creates a budget.
    /// - Parameters:
    ///   - ratio: The number of retries allowed for each call.
    ///   - window: The time over which calls and retries are counted, in whole seconds.
    ///   - floorPerSecond: The number of retries per second that are always allowed.
    ///   - meter: Counts refused retries and hedges (`turnpike.retry_budget.refusals`).
    public convenience init(
        ratio: Double = 0.2, window: Duration = .seconds(10), floorPerSecond: Double = 10,
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            Accounts(window: window), ratio: ratio, floorPerSecond: floorPerSecond,
            meter: meter)
    }

    /// Creates a budget that shares its counts with other budgets, but has its own ratio.
    /// - Parameters:
    ///   - accounts: The counts of calls and retries.
    ///   - ratio: The number of retries allowed for each call.
    ///   - floorPerSecond: The number of retries per second that are always allowed.
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

    func deposit(for origin: Origin?, at now: MonotonicInstant) {
        accounts.update(origin, now) { $0.add(first: 1) }
    }

    /// Counts a retry or a hedge if the budget allows another retry or hedge.
    /// - Returns: Whether the budget allows the retry or hedge.
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

    /// Returns a retry or a hedge that was counted but not sent to the budget.
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

    fileprivate var account: ObjectIdentifier { ObjectIdentifier(accounts) }
}

extension RetryBudget {
    /// The recent calls and retries of each origin.
    public final class Accounts: Sendable {
        let seconds: Int
        fileprivate let accounts = Mutex(BoundedMap<Origin, Account>())

        /// Creates empty counts.
        /// - Parameter window: The time over which calls and retries are counted, in whole seconds.
        public init(window: Duration = .seconds(10)) {
            seconds = Int(Swift.min(Swift.max(window.inSeconds.rounded(), 1), 3600))
        }
    }
}

private struct Account: BoundedMapEntry {
    // The window has a count of calls and a count of retries, in this order.
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

/// The budgets in which a hedge has already counted the call.
private enum HedgedBudgets: ContextKey {
    static var defaultValue: [ObjectIdentifier] { [] }
}

extension RetryBudget {
    /// Counts a call, with all attempts, of a gate that sends hedges.
    ///
    /// A ``Retry`` with the same budget does not count the call again.
    public func deposit(for origin: Origin?, in context: Context) {
        let counted = context[HedgedBudgets.self]
        if counted.contains(account) { return }
        context[HedgedBudgets.self] = counted + [account]
        deposit(for: origin, at: context.timeSource.now)
    }

    /// Counts a call for a retry gate, unless a hedge has counted the call.
    func depositForRetry(_ origin: Origin?, in context: Context) {
        if context[HedgedBudgets.self].contains(account) { return }
        deposit(for: origin, at: context.timeSource.now)
    }
}
