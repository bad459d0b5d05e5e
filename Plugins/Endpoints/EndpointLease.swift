// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeTraffic

/// One running request to an endpoint.
///
/// The request counts as running until the body of the response ends, an error ends the request, or
/// the lease is released.
final class EndpointLease: Sendable {
    private struct State {
        var isUnderWay = true
        // The time until the head, or nil before the head and for failed requests.
        var latency: Duration?
        var hasFailed = false
    }

    let member: EndpointMember
    let start: MonotonicInstant
    /// The endpoint's number of ejections before the request.
    ///
    /// A request that was sent before an ejection does not count after the ejection.
    let generation: Int
    private let state = Mutex(State())

    var target: ConnectTarget { member.endpoint.target }

    init(_ member: EndpointMember, at start: MonotonicInstant) {
        self.member = member
        self.start = start
        generation = member.health.generation
        member.begin()
    }

    deinit { end() }

    func hasHead(_ verdict: CircuitVerdict, at now: MonotonicInstant) {
        let latency = start.duration(to: now)
        state.withLock { $0.latency = latency }
        if verdict == .success { member.record(latency: latency, failed: false, at: now) }
    }

    @discardableResult
    func end() -> Bool {
        let wasUnderWay = state.withLock { state in
            defer { state.isUnderWay = false }
            return state.isUnderWay
        }
        if wasUnderWay { member.end() }
        return wasUnderWay
    }

    /// Counts a failure of the request once, and returns whether the failure is the first.
    func fail(at now: MonotonicInstant) -> Bool {
        let (isFirst, latency) = state.withLock { state in
            defer { state.hasFailed = true }
            return (!state.hasFailed, state.latency)
        }
        guard isFirst else { return false }
        // A body may take long. Only the time to the head is the latency of the endpoint.
        member.record(latency: latency ?? start.duration(to: now), failed: true, at: now)
        return true
    }

    func giveUp(at now: MonotonicInstant) {
        let hasHead = state.withLock { $0.latency != nil }
        if !hasHead { member.record(atLeast: start.duration(to: now), at: now) }
    }
}

/// The ``EndpointMember/key`` of all endpoints that a call has tried in attempts and hedges.
final class TriedOfCall: Sendable {
    private let tried = Mutex<[UInt64]>([])

    // Chooses and stores an endpoint. A simultaneous attempt then chooses another endpoint.
    func choosing(_ choose: ([UInt64]) -> PickResult?) -> PickResult? {
        var known = tried.withLock { $0 }
        while true {
            // The choice may run the user's code, and must not run under the lock.
            guard let pick = choose(known) else { return nil }
            let isNews = tried.withLock { tried in
                if tried.count == known.count {
                    if !tried.contains(pick.member.key) { tried.append(pick.member.key) }
                    return true
                }
                known = tried
                return false
            }
            if isNews { return pick }
        }
    }
}

enum TriedOfCallKey: ContextKey {
    static var defaultValue: TriedOfCall? { nil }
}
