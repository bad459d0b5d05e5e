// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The figures that one gate reports to a meter.
///
/// Gauges are reported as changes, and the gauges of gates that share the meter therefore add up.
/// The figures belong to the state of a gate, which may outlive a reload. When this state ends, the
/// reported gauges are subtracted.
public final class GateFigures: Sendable {
    private struct State {
        var meter: (any GateMeter)?
        var told: [GateFigure: Double] = [:]
    }

    /// The maximum number of reported gauges, which bounds the table for many origins.
    private static let maxGauges = 4096

    private let help: [String: String]
    private let counters: [GateFigure]
    private let state: Mutex<State>
    // This flag avoids the lock if there is no meter.
    private let hasMeter: Atomic<Bool>

    /// Creates the figures of a gate.
    /// - Parameters:
    ///   - meter: Receives the figures; if nil, the figures are not reported.
    ///   - help: A help text for the name of each figure: one sentence about the counted events,
    ///     with the unit (``GateMeter/describe(_:as:)``).
    ///   - counters: Counters that are reported as zero before the first event. With a zero at the
    ///     start, an alert recognizes the first event as a change.
    public init(
        _ meter: (any GateMeter)?, help: [String: String] = [:], counters: [GateFigure] = []
    ) {
        self.help = help
        self.counters = counters
        state = Mutex(State(meter: meter))
        hasMeter = Atomic(meter != nil)
        describe(to: meter)
    }

    deinit { state.withLock { Self.tell($0, times: -1) } }

    /// Reports later figures to another meter or to no meter.
    ///
    /// The gauges of the gate are removed from the old meter.
    public func move(to meter: (any GateMeter)?) {
        describe(to: meter)
        state.withLock { state in
            Self.tell(state, times: -1)
            state.meter = meter
            if meter == nil { state.told = [:] }
            Self.tell(state, times: 1)
            hasMeter.store(meter != nil, ordering: .relaxed)
        }
    }

    /// The meter that receives the figures, or nil.
    public var meter: (any GateMeter)? { state.withLock { $0.meter } }

    private func describe(to meter: (any GateMeter)?) {
        guard let meter else { return }
        meter.describe(help)
        for counter in counters { meter.add(0, to: counter.name, labels: counter.labels) }
    }

    /// Adds to a counter outside of a call; within a call, use `context.report(count:)`.
    public func add(
        _ amount: Double, to name: String, labels: @autoclosure () -> [String: String] = [:]
    ) {
        guard hasMeter.load(ordering: .relaxed) else { return }
        state.withLock { $0.meter }?.add(amount, to: name, labels: labels())
    }

    /// Reports the values of gauges.
    /// - Parameter read: Reads the values. Only one call at a time reads and reports, because the
    ///   last report must have the current values. A value of nil removes the gauge.
    public func tell(_ read: () -> [GateFigure: Double?]) {
        guard hasMeter.load(ordering: .relaxed) else { return }
        state.withLock { state in
            guard let meter = state.meter else { return }
            for (figure, value) in read() {
                let before = state.told[figure]
                guard let value else {
                    state.told[figure] = nil
                    if let before, before != 0 {
                        meter.change(figure.name, by: -before, labels: figure.labels)
                    }
                    continue
                }
                if before == value || (before == nil && state.told.count >= Self.maxGauges) {
                    continue
                }
                state.told[figure] = value
                meter.change(figure.name, by: value - (before ?? 0), labels: figure.labels)
            }
        }
    }

    /// Returns when the meter has delivered all figures.
    public func flush() async { await state.withLock { $0.meter }?.flush() }

    private static func tell(_ state: State, times sign: Double) {
        for (figure, value) in state.told where value != 0 {
            state.meter?.change(figure.name, by: sign * value, labels: figure.labels)
        }
    }
}

extension GateFigure {
    /// A counter.
    public static func counter(_ name: String, _ labels: [String: String] = [:]) -> GateFigure {
        GateFigure(name: name, kind: .counter, labels: labels)
    }

    /// A gauge.
    public static func gauge(_ name: String, _ labels: [String: String] = [:]) -> GateFigure {
        GateFigure(name: name, kind: .gauge, labels: labels)
    }
}
