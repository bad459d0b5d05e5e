// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import TurnpikeCore
import TurnpikeSupport

/// How large a fleet is, and for how long it runs.
struct FleetSize {
    var processes: Int
    var concurrency: Int
    var quota: Int
    var burst: Int
    var seconds: Int

    /// `TURNPIKE_FLEET=1` asks for the long form, which occupies a machine for half a minute each.
    static let isLong = ProcessInfo.processInfo.environment["TURNPIKE_FLEET"] == "1"

    static let usual =
        isLong
        ? FleetSize(processes: 8, concurrency: 50, quota: 500, burst: 50, seconds: 30)
        : FleetSize(processes: 4, concurrency: 20, quota: 200, burst: 20, seconds: 6)

    /// The smallest run that shows a quota at work, on a machine that does something else too.
    static let small = FleetSize(processes: 2, concurrency: 10, quota: 100, burst: 10, seconds: 2)

    /// A run in which nothing happens, which may be shorter.
    static var undisturbed: FleetSize {
        var size = usual
        if !isLong { size.seconds = 4 }
        return size
    }

    /// When a disturbance begins, and how long it lasts in the long form.
    static let disturbedAt: Duration = isLong ? .seconds(10) : .seconds(1)

    /// How long after a disturbance all must be as before.
    static let recovery = Duration.seconds(3)
}

/// A run of several processes that share a quota, counted at an independent server.
struct FleetOfProcesses {
    let size: FleetSize
    let reports: [JSONValue]
    /// When requests arrived, from the begin of the run on, with the number of their process.
    let arrivals: [(at: Duration, process: Int)]

    /// Runs a fleet.
    /// - Parameters:
    ///   - url: The URL of the store for each process.
    ///   - size: How large it is.
    ///   - environments: What is added to the environment of each process.
    ///   - events: What happens meanwhile, each at a moment from the begin on.
    /// - Returns: What came of it.
    /// - Throws: An error if a process cannot be started or trapped, or an event failed.
    static func run(
        _ url: String, _ size: FleetSize = .usual, environments: [[String: String]] = [],
        events: [(at: Duration, action: @Sendable () throws -> Void)] = []
    ) async throws -> FleetOfProcesses {
        let origin = try CountingServer()
        var children: [ChildProcess] = []
        for number in 0..<size.processes {
            let arguments = [
                "--valkey", url, "--origin", "http://127.0.0.1:\(origin.port)", "--path",
                "/\(number)", "--seconds", "\(size.seconds)", "--concurrency",
                "\(size.concurrency)", "--quota", "\(size.quota)", "--burst", "\(size.burst)",
            ]
            var environment = number < environments.count ? environments[number] : [:]
            environment["TURNPIKE_FLEET_ARGUMENTS"] = arguments.joined(separator: " ")
            let child = try Program("turnpike-fleet").start(
                arguments, environment: environment, input: .pipe,
                within: .seconds(size.seconds + 60))
            children.append(child)
        }
        // Each says that it is ready.
        for child in children {
            _ = await Blocking.run { child.output.availableData }
        }
        let begin = ContinuousClock.now
        guard children.allSatisfy(\.isRunning) else {
            throw ServerFault("a process of the fleet has ended before it began")
        }
        for child in children {
            try child.input.write(contentsOf: Data("go\n".utf8))
        }
        try await Blocking.run {
            Result {
                for event in events {
                    Thread.sleep(
                        forTimeInterval: max((begin + event.at - .now) / .seconds(1), 0))
                    try event.action()
                }
            }
        }.get()
        var reports: [JSONValue] = []
        for child in children {
            let (_, said, errors) = await child.finished()
            guard let report = try? JSONValue(parsing: said) else {
                throw ServerFault(String(decoding: errors, as: UTF8.self))
            }
            reports.append(report)
        }
        let arrivals = origin.arrivals.map {
            (at: $0.at - begin, process: Int($0.target.dropFirst()) ?? 0)
        }
        return FleetOfProcesses(size: size, reports: reports, arrivals: arrivals)
    }

    // MARK: What must hold

    /// How many calls failed.
    var failures: Int { reports.reduce(0) { $0 + ($1["failures"]?.int ?? 0) } }

    /// The most requests that arrived within a second that begins in a part of the run.
    func most(from begin: Duration = .zero, to end: Duration = .seconds(3600)) -> Int {
        let times = arrivals.map(\.at)
        var (most, last) = (0, 0)
        for first in times.indices where times[first] >= begin && times[first] < end {
            last = max(last, first)
            while last < times.count, times[last] - times[first] < .seconds(1) { last += 1 }
            most = max(most, last - first)
        }
        return most
    }

    /// Which part of the quota was used between two moments.
    func use(from begin: Duration, to end: Duration) -> Double {
        let count = arrivals.count { $0.at >= begin && $0.at < end }
        return Double(count) / (Double(size.quota) * ((end - begin) / .seconds(1)))
    }

    /// How far the process with the fewest and that with the most requests are from the average.
    func unfairness(from begin: Duration, to end: Duration) -> Double {
        var counts = Array(repeating: 0.0, count: size.processes)
        for arrival in arrivals where arrival.at >= begin && arrival.at < end {
            if counts.indices.contains(arrival.process) { counts[arrival.process] += 1 }
        }
        let average = max(counts.reduce(0, +) / Double(counts.count), 1)
        return counts.map { abs($0 / average - 1) }.max() ?? 0
    }

    /// What the store adds to a call, in milliseconds: the 99th percentile of all processes.
    var added: Double {
        let times = reports.flatMap { $0["probes"]?.array?.compactMap(\.double) ?? [] }.sorted()
        return times.isEmpty ? .infinity : times[(times.count - 1) * 99 / 100]
    }

    /// The bound on what arrives within a second: the quota, the burst and 5 %.
    var bound: Int { (size.quota + size.burst) * 105 / 100 }

    /// The figures, for people.
    func figures(_ name: String) -> String {
        let end = Duration.seconds(size.seconds)
        let seconds = (0..<size.seconds).map { second in
            arrivals.count { $0.at >= .seconds(second) && $0.at < .seconds(second + 1) }
        }
        return
            "fleet, \(name): \(arrivals.count) arrivals, most in a second \(most()) (bound \(bound)),"
            + " use \(use(from: .seconds(1), to: end)), unfairness"
            + " \(unfairness(from: .seconds(1), to: end)), failures \(failures), the store adds"
            + " \(added) ms (p99); each second \(seconds)"
    }
}
