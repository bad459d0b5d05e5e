// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The circuit of one origin, with the state and the time of the next change.
struct Circuit: BoundedMapEntry {
    /// The rules that decide when a circuit opens, and the open time.
    struct Rules: Sendable {
        let failureRatio: Double
        let minimum: Int
        let open: Duration
        let maxOpen: Duration
        let probes: Int

        init(
            failureRatio: Double, minimum: Int, open: Duration, maxOpen: Duration, probes: Int
        ) {
            self.failureRatio = failureRatio
            self.minimum = max(minimum, 1)
            self.open = max(open, .milliseconds(1))
            self.maxOpen = max(maxOpen, self.open)
            self.probes = max(probes, 1)
        }
    }

    enum Admission {
        /// The call is admitted, and the caller must report the end with this generation.
        case pass(generation: UInt64)
        /// The call is refused. At this time, the circuit half-opens or admits new probes.
        case refuse(until: MonotonicInstant)
        /// The call is refused, because this person or program has opened the circuit.
        case isolate(by: String)
    }

    private enum Phase {
        case closed
        case open(until: MonotonicInstant)
        case isolated(by: String)
        case halfOpen(until: MonotonicInstant, admitted: Int, succeeded: Int)
    }

    private var phase = Phase.closed
    // The number of calls with a verdict, and the number of failed calls.
    private var window: SlidingWindow
    // The number of times that the circuit has opened since the last close.
    private var openings = 0
    // Each change of the state begins a new generation. Calls of earlier generations do not count.
    private var generation: UInt64 = 0
    /// The last manual change of the circuit that no call has reported yet.
    var act: String?

    init(window: Duration) { self.window = SlidingWindow(span: window, slots: 10) }

    // Restarts the counts at zero with another window. The state does not change.
    mutating func count(over window: Duration) {
        self.window = SlidingWindow(span: window, slots: 10)
    }

    // A dropped circuit is closed, and a probe that ends later has no effect. A manually opened
    // circuit must not be dropped, because only a person may close this circuit.
    var isInUse: Bool {
        if case .isolated = phase { true } else { false }
    }

    var state: CircuitState {
        switch phase {
        case .closed: .closed
        case .open, .isolated: .open
        case .halfOpen: .halfOpen
        }
    }

    mutating func isolate(by name: String) {
        enter(.isolated(by: name))
        act = "was isolated by hand (\(name))"
    }

    /// Closes the circuit and restarts the counts, without the calls that are running.
    ///
    /// `name` is the person or program that closes the circuit, or nil if probes close the circuit.
    mutating func close(by name: String? = nil) {
        enter(.closed)
        openings = 0
        if let name { act = "was closed by hand (\(name))" }
    }

    /// The time until calls are admitted, which is zero for now, and nil after a manual opening.
    func remaining(at now: MonotonicInstant, _ rules: Rules) -> Duration? {
        switch phase {
        case .closed: .zero
        case .isolated: nil
        case .halfOpen(_, let admitted, _) where admitted < rules.probes: .zero
        case .open(let until), .halfOpen(let until, _, _): max(now.duration(to: until), .zero)
        }
    }

    /// Describes the circuit's effect on calls in words, or returns nil if the circuit is closed.
    func text(at now: MonotonicInstant, _ rules: Rules) -> (String, isTrouble: Bool)? {
        switch phase {
        case .closed: nil
        case .isolated(let name): ("isolated by hand (\(name)) until it is closed by hand", true)
        case .open(let until):
            ("open; a probe in \(max(now.duration(to: until), .zero).text)", true)
        case .halfOpen(_, let admitted, let succeeded):
            ("half-open; \(succeeded) of \(admitted) probes succeeded, \(rules.probes) must", true)
        }
    }

    mutating func admit(at now: MonotonicInstant, _ rules: Rules) -> Admission {
        switch phase {
        case .closed: return .pass(generation: generation)
        case .isolated(let name): return .isolate(by: name)
        case .open(let until):
            if now < until { return .refuse(until: until) }
            return beginProbes(at: now, rules)
        case .halfOpen(let until, let admitted, let succeeded):
            if admitted < rules.probes {
                phase = .halfOpen(until: until, admitted: admitted + 1, succeeded: succeeded)
                return .pass(generation: generation)
            }
            // If the probes never end, the circuit must not stay half-open forever.
            return now < until ? .refuse(until: until) : beginProbes(at: now, rules)
        }
    }

    /// Records the verdict on an admitted call, and returns the new state after a change.
    mutating func record(
        _ verdict: CircuitVerdict, generation: UInt64, at now: MonotonicInstant, _ rules: Rules
    ) -> CircuitState? {
        guard generation == self.generation else { return nil }
        switch (phase, verdict) {
        case (.open, _), (.isolated, _), (.closed, .ignored): return nil
        case (.closed, _):
            window.advance(to: now.nanoseconds)
            window.add(first: 1, second: verdict == .failure ? 1 : 0)
            guard verdict == .failure, window.first >= rules.minimum,
                Double(window.second) >= rules.failureRatio * Double(window.first)
            else { return nil }
            return open(at: now, rules)
        case (.halfOpen, .failure): return open(at: now, rules)
        case (.halfOpen(let until, let admitted, let succeeded), .ignored):
            phase = .halfOpen(until: until, admitted: admitted - 1, succeeded: succeeded)
            return nil
        case (.halfOpen(let until, let admitted, let succeeded), .success):
            guard succeeded + 1 >= rules.probes else {
                phase = .halfOpen(until: until, admitted: admitted, succeeded: succeeded + 1)
                return nil
            }
            close()
            return .closed
        }
    }

    private mutating func beginProbes(at now: MonotonicInstant, _ rules: Rules) -> Admission {
        let until = now.advanced(by: openTime(rules))
        enter(.halfOpen(until: until, admitted: 1, succeeded: 0))
        return .pass(generation: generation)
    }

    private mutating func open(at now: MonotonicInstant, _ rules: Rules) -> CircuitState {
        openings += 1
        enter(.open(until: now.advanced(by: openTime(rules))))
        return .open
    }

    private mutating func enter(_ phase: Phase) {
        self.phase = phase
        generation &+= 1
        window.clear()
    }

    // Each failure of the probes doubles the open time.
    private func openTime(_ rules: Rules) -> Duration {
        var time = rules.open
        var doublings = openings - 1
        while doublings > 0, time < rules.maxOpen { (time, doublings) = (time * 2, doublings - 1) }
        return min(time, rules.maxOpen)
    }
}

final class Circuits: Sendable {
    /// Whether a call is admitted, and the origins whose circuits changed or were dropped.
    struct Answer {
        let admission: Circuit.Admission
        var changed: [Origin] = []
        /// The manual changes since the last call.
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
            "The state of a server's circuit: 1 for the state that the circuit has, 0 for the"
            + " other states.",
        "turnpike.circuit_breaker.refusals": "Calls that an open circuit refused.",
    ]

    init(_ rules: Circuit.Rules, window: Duration, meter: (any GateMeter)?) {
        figures = GateFigures(meter, help: Self.help)
        state = Mutex(State(rules: rules, window: window))
    }

    /// Adopts the rules and the meter of another instance.
    ///
    /// Circuits keep their state. If the window has changed, the counts restart at zero.
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
            return state.circuits.compactMap { origin, circuit in
                circuit.text(at: now, rules).map {
                    LiveFigure("circuit of \(origin)", $0.0, isTrouble: $0.isTrouble)
                }
            }
        }
    }

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

    // Uses another meter from now on. Reports each circuit that is not closed now.
    private func tell(_ meter: (any GateMeter)?) {
        figures.move(to: meter)
        let origins = state.withLock { $0.circuits.keys { $0.state != .closed } }
        for origin in origins { tell(of: origin) }
    }
}

extension CircuitState {
    fileprivate var label: String { self == .halfOpen ? "half_open" : rawValue }
}
