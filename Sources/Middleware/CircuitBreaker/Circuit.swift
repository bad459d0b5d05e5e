// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The circuit of one origin: closed, open or half-open, and when it changes.
struct Circuit: BoundedMapEntry {
    /// When a circuit opens, and for how long.
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
            self.open = open
            self.maxOpen = maxOpen
            self.probes = max(probes, 1)
        }
    }

    /// Whether a call may pass.
    enum Admission {
        /// The call may pass; its end is reported with this generation.
        case pass(generation: UInt64)
        /// The call may not pass; at that time the circuit half-opens, or admits new probes.
        case refuse(until: MonotonicInstant)
        /// The call may not pass: this person has opened the circuit, and only a person closes it.
        case isolate(by: String)
    }

    private enum Phase {
        case closed
        case open(until: MonotonicInstant)
        case isolated(by: String)
        case halfOpen(until: MonotonicInstant, admitted: Int, succeeded: Int)
    }

    private var phase = Phase.closed
    // The calls that ended with a verdict, and how many of them failed.
    private var window: SlidingWindow
    // How often the circuit has opened since it was last closed.
    private var openings = 0
    // Each change of phase begins a new generation: earlier calls no longer count.
    private var generation: UInt64 = 0
    /// The last change that a person has made to the circuit, until a call reports it.
    var act: String?

    init(window: Duration) { self.window = SlidingWindow(span: window, slots: 10) }

    /// Counts over another window from now on; the counts begin at zero, and the state stays.
    mutating func count(over window: Duration) {
        self.window = SlidingWindow(span: window, slots: 10)
    }

    // Dropping a circuit closes it; a probe that ends later does no harm. A circuit that a person
    // has opened must not be dropped, because only a person closes it.
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

    /// Refuses all calls until a person closes the circuit; calls under way no longer count.
    mutating func isolate(by name: String) {
        enter(.isolated(by: name))
        act = "was isolated by hand (\(name))"
    }

    /// Lets all calls through, and counts anew; calls under way no longer count.
    /// - Parameter name: The person who closes the circuit; nil if probes do.
    mutating func close(by name: String? = nil) {
        enter(.closed)
        openings = 0
        if let name { act = "was closed by hand (\(name))" }
    }

    /// The time until calls may pass; zero if calls may pass now, nil if only a person decides.
    func remaining(at now: MonotonicInstant, _ rules: Rules) -> Duration? {
        switch phase {
        case .closed: .zero
        case .isolated: nil
        case .halfOpen(_, let admitted, _) where admitted < rules.probes: .zero
        case .open(let until), .halfOpen(let until, _, _): max(now.duration(to: until), .zero)
        }
    }

    /// What it does to calls, for people; nil if it is closed.
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
            // Probes that never end must not keep the circuit half-open forever.
            return now < until ? .refuse(until: until) : beginProbes(at: now, rules)
        }
    }

    /// Records the verdict on a call that was admitted.
    /// - Returns: The new state if the verdict changes the state, or nil.
    mutating func record(
        _ verdict: CircuitVerdict, generation: UInt64, at now: MonotonicInstant, _ rules: Rules
    ) -> CircuitState? {
        guard generation == self.generation else { return nil }
        switch (phase, verdict) {
        case (.open, _), (.isolated, _), (.closed, .ignored): return nil
        case (.closed, _):
            window.advance(to: now)
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

    // The time doubles each time that the probes fail.
    private func openTime(_ rules: Rules) -> Duration {
        var time = rules.open
        for _ in 0..<max(openings - 1, 0) where time < rules.maxOpen { time = time * 2 }
        return min(time, max(rules.maxOpen, rules.open))
    }
}
