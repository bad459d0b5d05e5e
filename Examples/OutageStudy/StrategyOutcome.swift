package import TurnpikeCore

/// What came of a strategy, second by second.
package struct StrategyOutcome: Sendable, Hashable {
    /// The strategy.
    package let strategy: Strategy
    /// What happened.
    package let scenario: Scenario
    /// The requests that reached the server in each second.
    package let requests: [Int]
    /// The calls that began in each second.
    package let calls: [Int]
    /// Those of them that succeeded.
    package let successes: [Int]

    package init(
        strategy: Strategy, scenario: Scenario, requests: [Int], calls: [Int], successes: [Int]
    ) {
        self.strategy = strategy
        self.scenario = scenario
        self.requests = requests
        self.calls = calls
        self.successes = successes
    }

    /// The requests for each call during the brown-out: 1 where nothing is tried again.
    package var amplification: Double {
        ratio(requests[scenario.outageSeconds], to: calls[scenario.outageSeconds])
    }

    /// The most requests in a second, for each that would come without retries.
    package var peak: Double { Double(requests.max() ?? 0) / scenario.offered }

    /// The share of the calls during the brown-out that succeeded.
    package var successDuring: Double {
        ratio(successes[scenario.outageSeconds], to: calls[scenario.outageSeconds])
    }

    /// The share of the calls behind the brown-out that succeeded.
    package var successAfter: Double {
        let rest = scenario.outageSeconds.upperBound...
        return ratio(successes[rest], to: calls[rest])
    }

    /// The seconds from the end of the brown-out until 95 of 100 calls succeed and go on to; nil
    /// where that does not come.
    package var recovery: Int? {
        let rest = scenario.outageSeconds.upperBound..<scenario.seconds
        // Single seconds of a few calls say little: five of them are looked at together.
        let bad = rest.last { second in
            let window = second..<min(second + 5, scenario.seconds)
            return ratio(successes[window], to: calls[window]) < 0.95
        }
        guard let bad else { return 0 }
        return bad + 5 >= scenario.seconds ? nil : bad + 1 - rest.lowerBound
    }

    private func ratio(_ part: ArraySlice<Int>, to whole: ArraySlice<Int>) -> Double {
        let sum = whole.reduce(0, +)
        return sum == 0 ? 1 : Double(part.reduce(0, +)) / Double(sum)
    }

    /// All of it as JSON.
    package var json: JSONValue {
        func list(_ values: [Int]) -> JSONValue { .array(values.map { .number(JSONNumber($0)) }) }
        func number(_ value: Double) -> JSONValue {
            JSONNumber((value * 1000).rounded() / 1000).map(JSONValue.number) ?? nil
        }
        return [
            "strategy": .string(strategy.rawValue), "amplification": number(amplification),
            "peak": number(peak), "successDuring": number(successDuring),
            "successAfter": number(successAfter),
            "recoverySeconds": recovery.map { .number(JSONNumber($0)) } ?? nil,
            "requests": list(requests), "calls": list(calls), "successes": list(successes),
        ]
    }
}
