// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore

/// A server that answers requests in order, as fast as its current capacity allows.
///
/// It does not know which clients have stopped waiting: it serves their requests like all others.
/// That is why an overloaded server stays down: it works on requests for which nobody waits.
final class BrownoutServer: Transport {
    private struct State {
        // The accepted work as a number of requests since the start. Idle time counts as work.
        var accepted = 0.0
        var arrivals: [Int]
    }

    let capabilities = TransportCapabilities(rawValue: .max)
    private let scenario: Scenario
    private let state: Mutex<State>

    private static let refusal: Duration = .milliseconds(5)
    private static let travel: Duration = .milliseconds(20)

    init(_ scenario: Scenario) {
        self.scenario = scenario
        state = Mutex(State(arrivals: Array(repeating: 0, count: scenario.seconds)))
    }

    /// The requests that arrived in each second.
    var arrivals: [Int] { state.withLock { $0.arrivals } }

    func send(_ request: Request, context: Context) async throws -> Response {
        let now = Double(context.timeSource.now.nanoseconds) / 1e9
        let answered = state.withLock { state -> Double? in
            let second = Int(now)
            if state.arrivals.indices.contains(second) { state.arrivals[second] += 1 }
            let borne = work(until: now)
            guard state.accepted - borne < Double(scenario.queueLimit) else { return nil }
            state.accepted = max(state.accepted, borne) + 1
            return time(of: state.accepted)
        }
        guard let answered else {
            try await context.sleep(for: Self.refusal)
            return Response(to: request, status: .serviceUnavailable)
        }
        try await context.sleep(for: Self.travel + .seconds(answered - now))
        return Response(to: request, status: .ok)
    }

    func shutdown() async {}

    // MARK: Work and time

    private var lines: (begin: Double, end: Double, atBegin: Double, atEnd: Double) {
        let begin = Double(scenario.before)
        let end = begin + Double(scenario.outage)
        let atBegin = begin * scenario.capacity
        return (begin, end, atBegin, atBegin + Double(scenario.outage) * scenario.brownCapacity)
    }

    /// Returns how many requests the server could have answered by a time.
    private func work(until time: Double) -> Double {
        let lines = lines
        if time <= lines.begin { return time * scenario.capacity }
        if time <= lines.end {
            return lines.atBegin + (time - lines.begin) * scenario.brownCapacity
        }
        return lines.atEnd + (time - lines.end) * scenario.capacity
    }

    /// Returns the time at which the server will have answered a number of requests.
    private func time(of work: Double) -> Double {
        let lines = lines
        if work <= lines.atBegin { return work / scenario.capacity }
        if work <= lines.atEnd {
            return lines.begin + (work - lines.atBegin) / scenario.brownCapacity
        }
        return lines.end + (work - lines.atEnd) / scenario.capacity
    }
}
