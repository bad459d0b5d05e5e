// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The outcome of a strategy, second by second.
struct StrategyOutcome: Sendable, Hashable {
    /// The name of the strategy or the rule.
    let name: String
    /// The scenario.
    let scenario: Scenario
    /// The requests that reached the server in each second.
    let requests: [Int]
    /// The calls that started in each second.
    let calls: [Int]
    /// How many of those calls succeeded.
    let successes: [Int]

    init(
        name: String, scenario: Scenario, requests: [Int], calls: [Int], successes: [Int]
    ) {
        self.name = name
        self.scenario = scenario
        self.requests = requests
        self.calls = calls
        self.successes = successes
    }

    /// The number of requests per call during the brown-out: 1 without retries.
    var amplification: Double {
        ratio(requests[scenario.outageSeconds], to: calls[scenario.outageSeconds])
    }

    /// The most requests in one second, relative to the requests per second without retries.
    var peak: Double { Double(requests.max() ?? 0) / scenario.offered }

    /// The requests that reached the server and are not the success of a call.
    var wasted: Int { requests.reduce(0, +) - successes.reduce(0, +) }

    /// The share of the calls during the brown-out that succeeded.
    var successDuring: Double {
        ratio(successes[scenario.outageSeconds], to: calls[scenario.outageSeconds])
    }

    /// The share of the calls after the brown-out that succeeded.
    var successAfter: Double {
        let rest = scenario.outageSeconds.upperBound...
        return ratio(successes[rest], to: calls[rest])
    }

    /// The seconds from the end of the brown-out until 95 of 100 calls succeed and keep succeeding;
    /// nil if that does not happen.
    var recovery: Int? {
        let rest = scenario.outageSeconds.upperBound..<scenario.seconds
        // A single second has only a few calls, so five seconds are combined.
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

    /// The outcome as JSON.
    var json: JSONValue {
        func list(_ values: [Int]) -> JSONValue { .array(values.map { .number(JSONNumber($0)) }) }
        func number(_ value: Double) -> JSONValue {
            JSONNumber((value * 1000).rounded() / 1000).map(JSONValue.number) ?? nil
        }
        return [
            "strategy": .string(name), "amplification": number(amplification),
            "peak": number(peak), "successDuring": number(successDuring),
            "successAfter": number(successAfter),
            "recoverySeconds": recovery.map { .number(JSONNumber($0)) } ?? nil,
            "requests": list(requests), "calls": list(calls), "successes": list(successes),
        ]
    }
}
