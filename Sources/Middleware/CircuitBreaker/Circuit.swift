package import TurnpikeCore

/// The circuit of one origin: closed, open, or half-open, and when it changes.
package struct Circuit: OriginEntry {
    /// When a circuit opens, and for how long.
    package struct Rules: Sendable {
        let failureRatio: Double
        let minimum: Int
        package let open: Duration
        let maxOpen: Duration
        package let probes: Int

        package init(
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
    package enum Admission {
        /// It may; its end is to be told with this number.
        case pass(generation: UInt64)
        /// It may not; the circuit half-opens, or takes new probes, at that time.
        case refuse(until: MonotonicInstant)
    }

    private enum Phase {
        case closed
        case open(until: MonotonicInstant)
        case halfOpen(until: MonotonicInstant, admitted: Int, succeeded: Int)
    }

    private var phase = Phase.closed
    // Calls that ended with a verdict, and those of them that failed.
    private var window: SlidingWindow
    // How often it opened since it was closed last.
    private var openings = 0
    // Each change of phase begins a new one: what was let through before it counts no more.
    private var generation: UInt64 = 0

    package init(window: Duration) { self.window = SlidingWindow(span: window, slots: 10) }

    /// Counts over another stretch of time from now on; what was counted is forgotten, the state is
    /// not.
    mutating func count(over window: Duration) {
        self.window = SlidingWindow(span: window, slots: 10)
    }

    // Forgetting a circuit closes it, which a probe that comes back late cannot harm.
    var isInUse: Bool { false }

    package var state: CircuitState {
        switch phase {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        }
    }

    package mutating func admit(at now: MonotonicInstant, _ rules: Rules) -> Admission {
        switch phase {
        case .closed: return .pass(generation: generation)
        case .open(let until):
            if now < until { return .refuse(until: until) }
            return beginProbes(at: now, rules)
        case .halfOpen(let until, let admitted, let succeeded):
            if admitted < rules.probes {
                phase = .halfOpen(until: until, admitted: admitted + 1, succeeded: succeeded)
                return .pass(generation: generation)
            }
            // Probes that never end must not keep the circuit half-open for good.
            return now < until ? .refuse(until: until) : beginProbes(at: now, rules)
        }
    }

    /// Takes the verdict on a call that was let through.
    /// - Returns: The state that the circuit changes to by it, or nil.
    package mutating func record(
        _ verdict: CircuitVerdict, generation: UInt64, at now: MonotonicInstant, _ rules: Rules
    ) -> CircuitState? {
        guard generation == self.generation else { return nil }
        switch (phase, verdict) {
        case (.open, _), (.closed, .ignored): return nil
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
            enter(.closed)
            openings = 0
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

    // It doubles each time that the probes fail.
    private func openTime(_ rules: Rules) -> Duration {
        var time = rules.open
        for _ in 0..<max(openings - 1, 0) where time < rules.maxOpen { time = time * 2 }
        return min(time, max(rules.maxOpen, rules.open))
    }
}
