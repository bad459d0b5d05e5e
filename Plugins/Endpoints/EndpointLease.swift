// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeMiddleware

/// One request that is under way to an endpoint.
///
/// It counts as under way until it ends. It ends once: with the body of the response, with an
/// error, or when the lease itself is released.
final class EndpointLease: Sendable {
    private struct State {
        var isUnderWay = true
        // The head's time; nil before it and for requests that fail.
        var latency: Duration?
        // Whether a failure of this request was counted.
        var hasFailed = false
    }

    let member: EndpointMember
    let start: MonotonicInstant
    /// The number of ejections of the endpoint before the request: a request that was sent before
    /// an ejection does not count after it.
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

    /// Notes the arrival of the head, with its verdict.
    func hasHead(_ verdict: CircuitVerdict, at now: MonotonicInstant) {
        let latency = start.duration(to: now)
        state.withLock { $0.latency = latency }
        if verdict == .success { member.record(latency: latency, failed: false, at: now) }
    }

    /// Ends the request.
    /// - Returns: Whether it was under way.
    @discardableResult
    func end() -> Bool {
        let wasUnderWay = state.withLock { state in
            defer { state.isUnderWay = false }
            return state.isUnderWay
        }
        if wasUnderWay { member.end() }
        return wasUnderWay
    }

    /// Counts a failure of the request, once.
    /// - Returns: Whether it is the first.
    func fail(at now: MonotonicInstant) -> Bool {
        let (isFirst, latency) = state.withLock { state in
            defer { state.hasFailed = true }
            return (!state.hasFailed, state.latency)
        }
        guard isFirst else { return false }
        // A body may be long, so only the head shows how slow the endpoint is.
        member.record(latency: latency ?? start.duration(to: now), failed: true, at: now)
        return true
    }

    /// Notes that the request was given up before its head: the endpoint is at least that slow.
    func giveUp(at now: MonotonicInstant) {
        let hasHead = state.withLock { $0.latency != nil }
        if !hasHead { member.record(atLeast: start.duration(to: now), at: now) }
    }
}

/// The endpoints that a call has tried, over all its attempts and hedges, by ``EndpointMember/key``.
final class TriedOfCall: Sendable {
    private let tried = Mutex<[UInt64]>([])

    /// Chooses an endpoint and remembers it, so that no attempt at the same moment chooses it too.
    func choosing(_ choose: ([UInt64]) -> PickResult?) -> PickResult? {
        var known = tried.withLock { $0 }
        while true {
            // Not under the lock, because a rule of the user's may be asked.
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
