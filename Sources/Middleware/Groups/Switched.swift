// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore

/// Turns gates on, off, or on for a share of the calls, while the client is in use.
///
/// ```swift
/// let hedging = Switch()
/// let client = Client(transport: transport, stack: [
///     .deadline(.seconds(10)), .switched(by: hedging, [.hedge(after: .milliseconds(200))]),
/// ])
/// hedging.set(share: 0, by: "Ann, incident 7")
/// ```
///
/// Each change is an event. The next call that passes the switch reports the change and its author
/// in the logs and in the trace. In a stack file, the setting `switch` sets the share.
public final class Switch: Sendable {
    // The bits of the share, because an atomic cannot hold a `Double`.
    private let bits: Atomic<UInt64>
    private let isNews: Atomic<Bool>
    private let setter: Mutex<String?>

    /// Creates a switch.
    /// - Parameters:
    ///   - share: The share of the calls that pass through the gates, from 0 (off) to 1 (on).
    ///   - name: The person or program that sets the share. With a name, the first share is also an
    ///     event.
    public init(share: Double = 1, by name: String? = nil) {
        bits = Atomic(Self.clamped(share).bitPattern)
        isNews = Atomic(name != nil)
        setter = Mutex(name)
    }

    /// The share of the calls that pass through the gates, from 0 to 1.
    public var share: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    /// The person or program that set the share, or nil for a first share without a name.
    var setBy: String? { setter.withLock { $0 } }

    /// Sets the share for all later calls.
    ///
    /// If the share does not change, the switch creates no event.
    /// - Parameters:
    ///   - share: The share, from 0 (off) to 1 (on).
    ///   - name: The person or program that sets the share.
    public func set(share: Double, by name: String) {
        let new = Self.clamped(share).bitPattern
        setter.withLock { setter in
            if bits.exchange(new, ordering: .relaxed) == new { return }
            setter = name
            isNews.store(true, ordering: .relaxed)
        }
    }

    /// Returns whether the switch is on for a call.
    ///
    /// All checks of one call return the same result, unless the share changes between the checks.
    /// - Parameters:
    ///   - context: The context of the call.
    ///   - gate: The name of the gate that checks the switch.
    /// - Returns: Whether the call passes through the gates.
    public func isOn(for context: Context, by gate: @autoclosure () -> String) -> Bool {
        if isNews.load(ordering: .relaxed), isNews.exchange(false, ordering: .relaxed) {
            context.report("is \(text) now, set by \(setBy ?? "")", by: gate())
        }
        let share = share
        if share <= 0 || share >= 1 { return share >= 1 }
        // A hash selects the calls, independently of the sampling of logs.
        var generator = SeededGenerator(seed: context.random.share.bitPattern)
        return generator.unit() < share
    }

    /// Returns the state of the switch, for a gate that has its own switch
    /// (``/TurnpikeCore/Gate/liveFigures(at:)``).
    public func liveFigure(isTrouble: Bool) -> LiveFigure {
        LiveFigure("switch", text + (setBy.map { ", set by \($0)" } ?? ""), isTrouble: isTrouble)
    }

    /// The share as a text for people.
    public var text: String {
        switch share {
        case 0: "off"
        case 1: "on"
        default: "on for \((share * 1000).rounded() / 10) % of the calls"
        }
    }

    private static func clamped(_ share: Double) -> Double { share > 0 ? min(share, 1) : 0 }
}

/// Gates behind a ``Switch``.
///
/// A request that does not pass through the gates costs only one check of the switch.
public struct Switched: GateGroup {
    /// The gates, outermost first.
    public let gates: [any Gate]
    let control: Switch

    /// Puts the gates of a stack behind a switch.
    public init(by control: Switch, _ stack: Stack) {
        self.control = control
        gates = stack.gates
    }

    /// States that the gates apply only if the switch selects the call.
    public func facts(for request: Request?) -> GateFacts? {
        let share = control.share
        var facts = GateFacts(
            "applies if its switch selects the call, and the switch is \(control.text)",
            .selects(byOrigin: false),
            passedOver: request != nil && share == 0 ? "its switch is off" : nil)
        facts.appliesByLot = share > 0 && share < 1
        return facts
    }

    /// The state of the switch, which counts as trouble if the share was lowered.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        [control.liveFigure(isTrouble: control.share < 1 && control.setBy != nil)]
    }

    /// Whether the switch is on for the call.
    public func applies(to request: Request, context: Context) -> Bool {
        control.isOn(for: context, by: gates.map(\.gateName).joined(separator: ", "))
    }
}

extension Gate where Self == Switched {
    /// Puts gates behind a switch; see ``Switched``.
    public static func switched(by control: Switch, _ stack: Stack) -> Self {
        Switched(by: control, stack)
    }
}
