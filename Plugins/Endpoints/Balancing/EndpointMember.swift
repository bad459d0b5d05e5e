// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore

/// One endpoint of a list, with what is under way to it and how fast it answers.
///
/// It lives as long as its target is in the list. If a new list gives the target another weight,
/// zone or labels, a new member continues the old one and shares its figures with it.
final class EndpointMember: Sendable {
    let endpoint: Endpoint

    /// Identifies the target, in all processes alike; never 0.
    let key: UInt64

    /// How well it is.
    let health: EndpointRecord

    private let load: Load

    /// Creates a member.
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - start: When its slow start begins; nil if it has none, as in the first list.
    init(_ endpoint: Endpoint, startingAt start: MonotonicInstant? = nil) {
        self.endpoint = endpoint
        key = Self.key(of: endpoint)
        load = Load()
        health = EndpointRecord()
        if let start { startSlowly(at: start) }
    }

    /// Creates a member for the same target, of a newer list, which continues an old one.
    init(_ endpoint: Endpoint, continuing old: EndpointMember) {
        self.endpoint = endpoint
        key = old.key
        load = old.load
        health = old.health
    }

    /// Returns what identifies the target of an endpoint: a hash of its text, `10.0.0.7:8080`.
    static func key(of endpoint: Endpoint) -> UInt64 {
        max(EndpointHash.of(endpoint.target.description), 1)
    }

    /// The requests under way.
    var underWay: Int { load.underWay.load(ordering: .relaxed) }

    /// Counts a request that is about to be sent; each needs one ``end()``.
    func begin() { load.underWay.wrappingAdd(1, ordering: .relaxed) }

    /// Counts the end of a request: of its body, its failure or its cancellation.
    func end() { load.underWay.wrappingSubtract(1, ordering: .relaxed) }

    /// Restarts the slow start, as after an ejection; sets that are made from now on use it.
    ///
    /// Failures are forgotten, since an endpoint that fails under load has many: the slow start is
    /// caution enough.
    func startSlowly(at now: MonotonicInstant) {
        load.start.store(now.nanoseconds, ordering: .relaxed)
        load.history.withLock { $0.forgetFailures() }
    }

    /// Whether it has come or returned so short a time ago.
    func startsSlowly(at now: MonotonicInstant, within time: Duration) -> Bool {
        start > .min && now < MonotonicInstant(nanoseconds: start).advanced(by: time)
    }

    /// How long it takes to answer, if that is known and worth telling: a millisecond or more.
    func latency(at now: MonotonicInstant) -> Duration? {
        let latency = load.history.withLock { $0.latency(at: now.nanoseconds) }
        return latency < 1e6 ? nil : .milliseconds(Int64(min(latency / 1e6, 9e12).rounded()))
    }

    /// When the slow start began, in nanoseconds of the clock; `Int64.min` if there was none.
    var start: Int64 { load.start.load(ordering: .relaxed) }

    /// Records the outcome of a request.
    ///
    /// The latency is a moving average that is sensitive to peaks, as in Finagle's `PeakEwma`: a
    /// slower answer counts at once, and faster ones wear it off with a time constant of 10 s. A
    /// failure never lowers the latency. It stops the latency from decaying, and counts as one more
    /// request under way, which fades with the same time constant. Otherwise an endpoint that fails
    /// at once would attract all requests, because it has none under way and low latencies.
    /// - Parameters:
    ///   - latency: The time from sending to the head of the response, or to the failure.
    ///   - failed: Whether the outcome says that the endpoint fails.
    ///   - now: The time.
    func record(latency: Duration, failed: Bool, at now: MonotonicInstant) {
        let sample = max(latency / .nanoseconds(1), 1)
        load.history.withLock { $0.record(sample, failed: failed, at: now.nanoseconds) }
    }

    /// Records that a request was given up before its outcome: the endpoint is at least that slow.
    func record(atLeast time: Duration, at now: MonotonicInstant) {
        let sample = max(time / .nanoseconds(1), 1)
        load.history.withLock { $0.record(atLeast: sample, at: now.nanoseconds) }
    }

    /// The requests under way and those that failed of late.
    func requests(at now: Int64) -> Double {
        Double(max(underWay, 0)) + load.history.withLock { $0.failures(at: now) }
    }

    /// The expected time of one more request: the latency times the requests under way and this one.
    ///
    /// Without a sample an endpoint costs nothing until a first request is under way. It then costs
    /// more than all others until that has ended, so that a single request probes it.
    /// - Parameters:
    ///   - weight: The weight, relative to the mean of all; the requests count per weight.
    ///   - now: The time in nanoseconds.
    /// - Returns: The time in nanoseconds.
    func cost(per weight: Double, at now: Int64) -> Double {
        let (latency, failures) = load.history.withLock {
            ($0.latency(at: now), $0.failures(at: now))
        }
        let requests = Double(max(underWay, 0)) + failures
        guard latency == 0 else { return latency * (requests / weight + 1) }
        return requests == 0 ? 0 : Self.unknown * (requests / weight + 1)
    }

    // Nanoseconds; more than any latency.
    private static let unknown = 1e18

    /// The figures, which members for the same target share.
    private final class Load: Sendable {
        let underWay = Atomic(0)
        let start = Atomic(Int64.min)
        let history = Mutex(History())
    }

    private struct History {
        // In nanoseconds; 0 before the first good outcome.
        private var latency = 0.0
        // Each failure counts 1 at first.
        private var failures = 0.0
        private var last = Int64.min

        mutating func record(_ sample: Double, failed: Bool, at now: Int64) {
            let kept = remains(at: now)
            failures *= kept
            if failed {
                failures += 1
                if latency > 0 { latency = max(latency, sample) }
            } else {
                latency = max(sample, latency * kept + sample * (1 - kept))
            }
            last = max(last, now)
        }

        mutating func record(atLeast sample: Double, at now: Int64) {
            let kept = remains(at: now)
            guard sample > latency * kept else { return }
            latency = sample
            failures *= kept
            last = max(last, now)
        }

        mutating func forgetFailures() { failures = 0 }

        func latency(at now: Int64) -> Double {
            latency == 0 ? 0 : max(latency * remains(at: now), 1)
        }

        // A failure that has faded to less than a half no longer counts: one alone is forgotten
        // after 7 s.
        func failures(at now: Int64) -> Double {
            guard failures > 0 else { return 0 }
            let left = failures * remains(at: now)
            return left < 0.5 ? 0 : left
        }

        // The part of a value of the last record that has not worn off.
        private func remains(at now: Int64) -> Double {
            let age = Double(now) - Double(last)
            return age > 0 ? exp(-age / 10e9) : 1
        }
    }
}
