// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The figures of a run, from the beginning of the weather on.
struct RunOutcome: Sendable, Hashable {
    /// The calls that began during the weather.
    let calls: Int
    /// How many of them failed.
    let failures: Int
    /// How many calls failed that began two seconds after the weather or later.
    let failuresAfter2: Int
    /// The share of failed calls among those that began five seconds after the weather or later.
    let failedAfter5: Double
    /// The median time of a call in seconds.
    let median: Double
    /// The 99th percentile of the time of a call in seconds, failed calls included.
    let p99: Double
    /// The share of all requests that went to the affected endpoints; nil without such endpoints.
    let affectedShare: Double?
    /// The calls of each second.
    let seconds: [SecondOutcome]

    /// Sums up calls and the requests of each endpoint.
    init(_ all: [CallOutcome], arrivals: [Int], _ affected: [Int], _ scenario: Scenario) {
        let begin = Double(scenario.before)
        let calls = all.filter { $0.begin >= begin }
        self.calls = calls.count
        failures = calls.count { !$0.hasSucceeded }
        failuresAfter2 = calls.count { !$0.hasSucceeded && $0.begin >= begin + 2 }
        let later = calls.filter { $0.begin >= begin + 5 }
        failedAfter5 = Double(later.count { !$0.hasSucceeded }) / Double(max(later.count, 1))
        let durations = calls.map(\.duration).sorted()
        median = Self.quantile(0.5, of: durations)
        p99 = Self.quantile(0.99, of: durations)
        let requests = arrivals.reduce(0, +)
        affectedShare =
            affected.isEmpty || requests == 0
            ? nil : Double(affected.map { arrivals[$0] }.reduce(0, +)) / Double(requests)
        var seconds = Array(repeating: SecondOutcome(), count: scenario.seconds)
        for call in all { seconds[Int(call.begin)].add(call) }
        self.seconds = seconds
    }

    private static func quantile(_ share: Double, of sorted: [Double]) -> Double {
        sorted.isEmpty ? 0 : sorted[Int((Double(sorted.count - 1) * share).rounded())]
    }
}

/// The calls that began in one second.
struct SecondOutcome: Sendable, Hashable {
    /// How many began.
    private(set) var calls = 0
    /// How many of these calls failed.
    private(set) var failures = 0
    // The number of calls by their time, in classes that grow by a tenth, from 1 ms on.
    private var classes = [UInt32](repeating: 0, count: 120)

    /// Adds a call.
    mutating func add(_ call: CallOutcome) {
        calls += 1
        if !call.hasSucceeded { failures += 1 }
        let number = Int(log(max(call.duration, 0.001) / 0.001) / log(1.1))
        classes[min(number, classes.count - 1)] += 1
    }

    /// Adds the calls of the same second in another run.
    mutating func add(_ other: SecondOutcome) {
        calls += other.calls
        failures += other.failures
        for index in classes.indices { classes[index] += other.classes[index] }
    }

    /// The 99th percentile of the time of a call in seconds, to a tenth; nil without calls.
    var p99: Double? {
        var above = calls
        for (number, count) in classes.enumerated() {
            above -= Int(count)
            if above * 100 < calls { return 0.001 * exp((Double(number) + 0.5) * log(1.1)) }
        }
        return nil
    }
}
