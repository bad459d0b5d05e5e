// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// One endpoint of a list, with the running requests and the latency of the endpoint.
///
/// If a new list changes the weight, zone or labels of the target, the new member shares the
/// measurements of the old member.
final class EndpointMember: Sendable {
    let endpoint: Endpoint

    /// A hash of the target, which is never 0 and is equal in all processes.
    let key: UInt64

    let health: EndpointRecord

    private let load: Load

    /// Creates a member, without a slow start if `start` is nil.
    init(_ endpoint: Endpoint, startingAt start: MonotonicInstant? = nil) {
        self.endpoint = endpoint
        key = Self.key(of: endpoint)
        load = Load()
        health = EndpointRecord()
        if let start { startSlowly(at: start) }
    }

    init(_ endpoint: Endpoint, continuing old: EndpointMember) {
        self.endpoint = endpoint
        key = old.key
        load = old.load
        health = old.health
    }

    /// The hash of the target's text, such as `10.0.0.7:8080`.
    static func key(of endpoint: Endpoint) -> UInt64 {
        max(EndpointHash.of(endpoint.target.description), 1)
    }

    var underWay: Int { load.underWay.load(ordering: .relaxed) }

    // Counts a request before the send. Each request needs one ``end()``.
    func begin() { load.underWay.wrappingAdd(1, ordering: .relaxed) }

    func end() { load.underWay.wrappingSubtract(1, ordering: .relaxed) }

    /// Restarts the slow start for later sets, for example after an ejection.
    ///
    /// Earlier failures are removed, because the slow start protects the endpoint enough.
    func startSlowly(at now: MonotonicInstant) {
        load.start.store(now.nanoseconds, ordering: .relaxed)
        load.history.withLock { $0.forgetFailures() }
    }

    func startsSlowly(at now: MonotonicInstant, within time: Duration) -> Bool {
        start > .min && now < MonotonicInstant(nanoseconds: start).advanced(by: time)
    }

    /// The latency, or nil if the latency is unknown or less than a millisecond.
    func latency(at now: MonotonicInstant) -> Duration? {
        let latency = load.history.withLock { $0.latency(at: now.nanoseconds) }
        return latency < 1e6 ? nil : .milliseconds(Int64(min(latency / 1e6, 9e12).rounded()))
    }

    /// The begin of the slow start in nanoseconds of the clock, or `Int64.min` for no slow start.
    var start: Int64 { load.start.load(ordering: .relaxed) }

    /// Records the outcome of a request, and the time to the head or the failure.
    ///
    /// The latency is a moving average that is sensitive to peaks, as in Finagle's `PeakEwma`. A
    /// slower answer counts at once, and faster answers reduce the latency with a time constant of
    /// 10 s. A failure does not reduce the latency, and counts as a running request; this effect
    /// fades with the same time constant. Without this effect, an endpoint that fails at once would
    /// attract all requests, because the endpoint has no running requests and low latencies.
    func record(latency: Duration, failed: Bool, at now: MonotonicInstant) {
        let sample = max(latency / .nanoseconds(1), 1)
        load.history.withLock { $0.record(sample, failed: failed, at: now.nanoseconds) }
    }

    /// Records an abandoned request with a latency of at least the given time.
    func record(atLeast time: Duration, at now: MonotonicInstant) {
        let sample = max(time / .nanoseconds(1), 1)
        load.history.withLock { $0.record(atLeast: sample, at: now.nanoseconds) }
    }

    /// The number of running requests and recently failed requests.
    func requests(at now: Int64) -> Double {
        Double(max(underWay, 0)) + load.history.withLock { $0.failures(at: now) }
    }

    /// The expected time of another request in nanoseconds, as latency times (requests + 1).
    ///
    /// An endpoint without a sample costs nothing, and therefore gets one request. While this
    /// request runs, the endpoint costs more than all other endpoints. The requests count per
    /// weight, relative to the mean weight.
    func cost(per weight: Double, at now: Int64) -> Double {
        let (latency, failures) = load.history.withLock {
            ($0.latency(at: now), $0.failures(at: now))
        }
        let requests = Double(max(underWay, 0)) + failures
        guard latency == 0 else { return latency * (requests / weight + 1) }
        return requests == 0 ? 0 : Self.unknown * (requests / weight + 1)
    }

    // A number of nanoseconds above any latency.
    private static let unknown = 1e18

    /// The measurements of a target, which all members of the target share.
    private final class Load: Sendable {
        let underWay = Atomic(0)
        let start = Atomic(Int64.min)
        let history = Mutex(History())
    }

    private struct History {
        // The latency in nanoseconds, or 0 before the first success.
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

        // A failure counts until the value falls below a half, after 7 s.
        func failures(at now: Int64) -> Double {
            guard failures > 0 else { return 0 }
            let left = failures * remains(at: now)
            return left < 0.5 ? 0 : left
        }

        private func remains(at now: Int64) -> Double {
            let age = Double(now) - Double(last)
            return age > 0 ? exp(-age / 10e9) : 1
        }
    }
}
