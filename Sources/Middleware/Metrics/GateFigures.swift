import Synchronization

/// What one gate tells a meter: counts, and gauges as changes, so that those of gates which share
/// the meter add up.
///
/// It belongs to what the gate remembers, which a reload may keep, and takes back what it has told
/// of gauges when that goes.
package final class GateFigures: Sendable {
    private struct State {
        var meter: (any GateMeter)?
        var told: [GateFigure: Double] = [:]
    }

    /// The most gauges that are told of, so that many origins do not make it grow for ever.
    private static let maxGauges = 4096

    private let state: Mutex<State>
    // Spares the lock where there is no meter.
    private let hasMeter: Atomic<Bool>

    package init(_ meter: (any GateMeter)?) {
        state = Mutex(State(meter: meter))
        hasMeter = Atomic(meter != nil)
    }

    deinit { state.withLock { Self.tell($0, times: -1) } }

    /// Tells another meter from now on, or none; the former one no longer has these gauges.
    package func move(to meter: (any GateMeter)?) {
        state.withLock { state in
            Self.tell(state, times: -1)
            state.meter = meter
            if meter == nil { state.told = [:] }
            Self.tell(state, times: 1)
            hasMeter.store(meter != nil, ordering: .relaxed)
        }
    }

    /// Counts one more.
    package func count(_ name: String, labels: @autoclosure () -> [String: String] = [:]) {
        add(1, to: name, labels: labels())
    }

    /// Adds to a counter.
    package func add(
        _ amount: Double, to name: String, labels: @autoclosure () -> [String: String] = [:]
    ) {
        guard hasMeter.load(ordering: .relaxed) else { return }
        state.withLock { $0.meter }?.add(amount, to: name, labels: labels())
    }

    /// Tells what gauges show.
    /// - Parameter read: Reads them; one after the other, so that what is told last is true. nil is
    ///   for a gauge of what is no more: it is taken back and forgotten.
    package func tell(_ read: () -> [GateFigure: Double?]) {
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

    /// Returns when the meter has passed on what it was told.
    package func flush() async { await state.withLock { $0.meter }?.flush() }

    private static func tell(_ state: State, times sign: Double) {
        for (figure, value) in state.told where value != 0 {
            state.meter?.change(figure.name, by: sign * value, labels: figure.labels)
        }
    }
}

extension GateFigure {
    /// A gauge.
    package static func gauge(_ name: String, _ labels: [String: String] = [:]) -> GateFigure {
        GateFigure(name: name, kind: .gauge, labels: labels)
    }
}
