// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The circuits of all origins.
final class Circuits: Sendable {
    /// Whether a call may pass, and the origins whose circuits changed or were dropped.
    struct Answer {
        let admission: Circuit.Admission
        var changed: [Origin] = []
        /// The changes that a person has made since the last call.
        var act: String?
    }

    private struct State {
        var circuits = BoundedMap<Origin, Circuit>()
        var rules: Circuit.Rules
        var window: Duration
    }

    private let state: Mutex<State>
    let figures: GateFigures

    private static let help = [
        "turnpike.circuit_breaker.state":
            "Circuits in the state of the label: 1 for the current state of a server's circuit, 0"
            + " for the others.",
        "turnpike.circuit_breaker.refusals": "Calls that an open circuit refused.",
    ]

    init(_ rules: Circuit.Rules, window: Duration, meter: (any GateMeter)?) {
        figures = GateFigures(meter, help: Self.help)
        state = Mutex(State(rules: rules, window: window))
    }

    /// Takes over the rules and the meter of another instance.
    ///
    /// Circuits keep their state, but begin to count again if the window has changed.
    func update(to other: Circuits) {
        let (rules, window) = other.state.withLock { ($0.rules, $0.window) }
        state.withLock { state in
            state.rules = rules
            if window != state.window { state.circuits.updateAll { $0.count(over: window) } }
            state.window = window
        }
        tell(other.figures.meter)
    }

    func state(of origin: Origin) -> CircuitState {
        state.withLock { $0.circuits[origin]?.state } ?? .closed
    }

    func admit(_ origin: Origin, at now: MonotonicInstant) -> Answer {
        state.withLock { state in
            let (rules, window) = (state.rules, state.window)
            var evicted: [Origin] = []
            let (admission, hasChanged, act) = state.circuits.update(
                origin, orMake: Circuit(window: window),
                evicting: { origin, _ in evicted.append(origin) },
                { circuit in
                    let before = circuit.state
                    defer { if circuit.act != nil { circuit.act = nil } }
                    return (circuit.admit(at: now, rules), circuit.state != before, circuit.act)
                })
            var answer = Answer(admission: admission, act: act)
            if hasChanged { answer.changed.append(origin) }
            answer.changed += evicted
            return answer
        }
    }

    // MARK: By hand

    /// Opens an origin's circuit until a person closes it; adds the circuit if it is unknown.
    func isolate(_ origin: Origin, by name: String) {
        let evicted = state.withLock { state in
            let window = state.window
            var evicted: [Origin] = []
            state.circuits.update(
                origin, orMake: Circuit(window: window),
                evicting: { origin, _ in evicted.append(origin) }, { $0.isolate(by: name) })
            return evicted
        }
        for origin in [origin] + evicted { tell(of: origin) }
    }

    /// Closes an origin's circuit; an unknown circuit is closed anyway.
    func close(_ origin: Origin, by name: String) {
        _ = state.withLock { $0.circuits.updateIfPresent(origin) { $0.close(by: name) } }
        tell(of: origin)
    }

    func remaining(of origin: Origin, at now: MonotonicInstant) -> Duration? {
        state.withLock { state in
            guard let circuit = state.circuits[origin] else { return .zero }
            return circuit.remaining(at: now, state.rules)
        }
    }

    func record(
        _ verdict: CircuitVerdict, _ origin: Origin, generation: UInt64, at now: MonotonicInstant
    ) -> CircuitState? {
        let change = state.withLock { state in
            let rules = state.rules
            return state.circuits.updateIfPresent(origin) { circuit in
                circuit.record(verdict, generation: generation, at: now, rules)
            }
        }
        return change ?? nil
    }

    // MARK: Metrics

    func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        state.withLock { state in
            let rules = state.rules
            return state.circuits.liveFigures({ "circuit of \($0)" }) { $0.text(at: now, rules) }
        }
    }

    /// Reports the state of an origin's circuit to the meter, or no state if the circuit is gone.
    func tell(of origin: Origin) {
        figures.tell {
            let present = state.withLock { $0.circuits[origin]?.state }
            var gauges: [GateFigure: Double?] = [:]
            for state in CircuitState.allCases {
                let labels = origin.meterLabels.merging(["state": state.label]) { $1 }
                gauges.updateValue(
                    present.map { $0 == state ? 1 : 0 },
                    forKey: .gauge("turnpike.circuit_breaker.state", labels))
            }
            return gauges
        }
    }

    // Reports to another meter from now on, at once for each circuit that is not closed.
    private func tell(_ meter: (any GateMeter)?) {
        figures.move(to: meter)
        let origins = state.withLock { $0.circuits.keys { $0.state != .closed } }
        for origin in origins { tell(of: origin) }
    }
}

extension CircuitState {
    fileprivate var label: String { self == .halfOpen ? "half_open" : rawValue }
}
