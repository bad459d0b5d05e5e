// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore

/// A server with some workers, and a queue in front of them.
///
/// It does not know which clients have stopped waiting: it serves their requests like all others.
struct SimulatedEndpoint: Sendable {
    /// The outcome of a request.
    enum Fate: Sendable {
        /// It is answered.
        case answered(HTTPStatus, at: Double)
        /// The connection ends before the answer.
        case reset(at: Double)
        /// No answer comes.
        case silence
    }

    private let scenario: Scenario
    private let phases: [Phase]
    // When each worker is free, and when each waiting request will begin.
    private var free: [Double]
    private var starts: [Double] = []
    private var latest = 0.0
    /// The requests and the failed connections since the weather began.
    private(set) var arrivals = 0

    /// Creates an endpoint.
    init(_ number: Int, _ weather: Weather, _ scenario: Scenario) {
        self.scenario = scenario
        phases = weather.phases(of: number, in: scenario)
        free = Array(repeating: 0, count: scenario.workers)
    }

    /// Returns the phase at a time.
    func phase(at time: Double) -> Phase { phases.last { $0.begin <= time } ?? phases[0] }

    /// Whether the process stopped within a period.
    func hasStopped(after begin: Double, until end: Double) -> Bool {
        phases.contains { $0.condition == .stopped && $0.begin > begin && $0.begin <= end }
    }

    /// Opens a connection, and returns the condition that decides whether it is accepted.
    mutating func connect(at now: Double) -> Condition {
        let condition = phase(at: now).condition
        let isAccepted = condition != .stopped && condition != .silent
        if !isAccepted { countArrival(at: now) }
        return condition
    }

    /// Serves a request.
    mutating func serve(
        at now: Double, using generator: inout SeededGenerator
    ) -> Fate {
        countArrival(at: now)
        if hasStopped(after: latest, until: now) {
            free = free.map { _ in now }
            starts = []
        }
        latest = now
        let phase = phase(at: now)
        var factor = 1.0
        var failures = 0.0
        switch phase.condition {
        case .well: break
        case .slow(let times): factor = times
        case .failing(let share): failures = share
        case .blackHole: return .answered(.internalServerError, at: now)
        case .stopped: return .reset(at: now)
        case .silent: return .silence
        case .cold(let times, let seconds):
            factor = max(1, times - (times - 1) * (now - phase.begin) / seconds)
        }
        starts.removeAll { $0 <= now }
        guard starts.count < scenario.queueLimit else {
            return .answered(.serviceUnavailable, at: now)
        }
        let isFailure = generator.unit() < failures
        let end = work(for: factor * serviceTime(using: &generator), from: now)
        if let stop = phases.first(where: { $0.begin > now && $0.begin < end }) {
            if stop.condition == .stopped { return .reset(at: stop.begin) }
            if stop.condition == .silent { return .silence }
        }
        return .answered(isFailure ? .internalServerError : .ok, at: end)
    }

    private mutating func countArrival(at now: Double) {
        if now >= Double(scenario.before) { arrivals += 1 }
    }

    // The worker that is free first serves the request.
    private mutating func work(for seconds: Double, from now: Double) -> Double {
        var worker = 0
        for other in free.indices where free[other] < free[worker] { worker = other }
        let start = max(free[worker], now)
        if start > now { starts.append(start) }
        free[worker] = start + seconds
        return start + seconds
    }

    // A log-normal time, by the Box–Muller transform.
    private func serviceTime(using generator: inout SeededGenerator) -> Double {
        let radius = (-2 * log(1 - generator.unit())).squareRoot()
        let normal = radius * cos(2 * .pi * generator.unit())
        return scenario.median * exp(scenario.spread * normal)
    }
}
