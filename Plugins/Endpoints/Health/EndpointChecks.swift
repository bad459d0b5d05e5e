// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

final class EndpointChecks: Sendable {
    private struct State {
        var rules: EndpointHealthCheck?
        var transport: (any Transport)?
        var origin: Origin?
        /// The context of the task that runs the checks, or nil if there is no task.
        var context: Context?
        var underWay = 0
        /// The stack of the last call, or nil if the next call must begin the checks.
        var stack: ObjectIdentifier?
    }

    private let state: Mutex<State>
    private let isOn: Atomic<Bool>

    /// The maximum number of simultaneous checks.
    private static let width = 64

    init(_ rules: EndpointHealthCheck?) {
        state = Mutex(State(rules: rules))
        isOn = Atomic(rules != nil)
    }

    // Replaces the rules. The next call begins the checks.
    func update(_ rules: EndpointHealthCheck?) {
        stop()
        state.withLock { $0.rules = rules }
        isOn.store(rules != nil, ordering: .relaxed)
    }

    // Ends the checks and releases the transport. The next call begins the checks again.
    func stop() {
        let (context, transport) = state.withLock { state in
            state.stack = nil
            return (state.context.take(), state.transport.take())
        }
        context?.cancel(.handle)
        withExtendedLifetime(transport) {}
    }

    /// Begins the checks, or continues the checks over the transport of another stack.
    func go(on balancer: LoadBalancer, _ origin: Origin, _ next: Next, _ context: Context) {
        guard isOn.load(ordering: .relaxed) else { return }
        let background = state.withLock { state -> Context? in
            guard state.rules != nil, state.stack != next.planIdentity else { return nil }
            state.stack = next.planIdentity
            (state.transport, state.origin) = (next.transport, origin)
            guard state.context == nil else { return nil }
            let background = Context(
                timeSource: context.timeSource,
                randomSource: SeededRandomSource(seed: context.random.next()))
            state.context = background
            return background
        }
        if let background { run(on: balancer, in: background) }
    }

    private func run(on balancer: LoadBalancer, in background: Context) {
        // This task belongs to no call, and ends with its context. The shutdown of a client, new
        // rules or the release of the balancer cancels this context. A waiting task retains neither
        // the balancer nor the transport, and does not keep a client alive.
        _ = Task.apart { [weak self, weak balancer] in
            await withDiscardingTaskGroup { group in
                while let wait = self?.begin(on: balancer, in: background, &group) {
                    do { try await background.sleep(for: wait) } catch { return }
                }
            }
        }
    }

    /// Begins the due checks, and returns the time to the next check, or nil without checks.
    private func begin(
        on balancer: LoadBalancer?, in background: Context, _ group: inout DiscardingTaskGroup
    ) -> Duration? {
        let (rules, transport, origin, underWay) = state.withLock {
            ($0.rules, $0.transport, $0.origin, $0.underWay)
        }
        guard let balancer, let rules, let transport, let origin, background.cancelReason == nil
        else { return nil }
        let now = background.timeSource.now
        let (due, next) = due(
            of: balancer.members, room: Self.width - underWay, rules, at: now, background)
        state.withLock { $0.underWay += due.count }
        for (member, context) in due {
            group.addTask { [weak self, weak balancer] in
                let isWell = await rules.run(
                    to: member.endpoint, for: origin, over: transport, in: context)
                self?.state.withLock { $0.underWay -= 1 }
                balancer?.endCheck(of: member, isWell, rules, at: context.timeSource.now)
            }
        }
        // The loop over all endpoints is slow, and runs at most fifty times in an interval.
        return max(now.duration(to: next), rules.pause * 0.02)
    }

    private func due(
        of members: [EndpointMember], room: Int, _ rules: EndpointHealthCheck,
        at now: MonotonicInstant, _ background: Context
    ) -> (checks: [(EndpointMember, Context)], next: MonotonicInstant) {
        var checks: [(EndpointMember, Context)] = []
        var next = now.advanced(by: rules.pause)
        for member in members {
            guard let at = member.health.nextCheck else {
                // The first checks are spread over the interval.
                let first = now.advanced(by: rules.pause * background.random.unit())
                member.health.nextCheck = first
                next = min(next, first)
                continue
            }
            if now < at || checks.count >= room {
                next = min(next, at)
                continue
            }
            let context = background.child()
            // If the last check of the endpoint is still running, this check is skipped.
            if member.health.beginCheck(in: context) { checks.append((member, context)) }
            let pause = rules.pause * (0.9 + 0.2 * background.random.unit())
            member.health.nextCheck = now.advanced(by: pause)
            next = min(next, now.advanced(by: pause))
        }
        return (checks, next)
    }
}

extension EndpointHealthCheck {
    /// The interval between limits that prevent a busy core and an overflow of the clock.
    fileprivate var pause: Duration { min(max(interval, .milliseconds(10)), .seconds(1 << 32)) }
}
