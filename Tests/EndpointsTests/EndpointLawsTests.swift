// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting
import TurnpikeTraffic

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

/// Lists that chance makes.
private final class DicedLists: EndpointResolver {
    private let dice: Mutex<Dice>

    init(_ seed: UInt64) { dice = Mutex(Dice(seed: seed)) }

    func endpoints(in context: Context) async throws -> EndpointList {
        let (wait, fails, count, first) = dice.withLock {
            ($0.roll(0...300), $0.chance(0.2), $0.roll(1...6), $0.roll(0...4))
        }
        try await context.sleep(for: .milliseconds(wait))
        if fails { throw ClientError(.dns, "lost") }
        let list = (first..<first + count).map { Endpoint.at($0, zone: $0 % 2 == 0 ? "a" : "b") }
        return EndpointList(list, freshFor: .milliseconds(500))
    }
}

/// One run: a stack, servers and calls that chance made.
private struct Run: Sendable {
    let number: UInt64
    let gate: Endpoints
    let attempts: Int
    let hedges: Int
    let health: EndpointHealth

    init(_ number: UInt64) {
        var dice = Dice(seed: Law.seed(number))
        self.number = number
        attempts = dice.roll(1...5)
        hedges = dice.roll(1...3)
        health = EndpointHealth(
            consecutiveFailures: dice.roll(0...3), interval: .milliseconds(dice.roll(100...900)),
            minimumRequests: dice.roll(1...5), deviations: Double(dice.roll(0...3)),
            ejection: .milliseconds(dice.roll(1...800)), maxEjection: .seconds(2),
            maxEjected: dice.one(of: [0, 0.1, 0.5, 1]), panic: dice.one(of: [0, 0.5, 1]),
            slowStart: dice.one(of: [.zero, .seconds(2)]),
            check: dice.chance(0.5)
                ? EndpointHealthCheck(
                    path: "/health", interval: .milliseconds(dice.roll(50...400)),
                    timeout: .milliseconds(dice.roll(10...200)), unhealthyThreshold: 1,
                    healthyThreshold: 1) : nil)
        let rules: [BalancingPolicy] = [
            .leastRequests, .peakEWMA, .roundRobin, .weighted,
            .hash { $0.headers["X-Key"] },
        ]
        gate = Endpoints(
            for: "users.internal", from: DicedLists(~Law.seed(number)),
            policy: dice.one(of: rules),
            zone: dice.chance(0.3) ? EndpointZone("a", spill: 0.7) : nil,
            subset: dice.chance(0.2) ? EndpointSubset(size: 3, of: dice.roll(0...5)) : nil,
            health: health)
    }

    var stack: Stack {
        var gates: [any Gate] = [
            Deadline(.seconds(5)),
            Retry(
                attempts: attempts,
                backoff: Backoff(base: .milliseconds(10), max: .milliseconds(100)), budget: nil),
        ]
        if hedges > 1 {
            gates.append(Hedge(after: .milliseconds(60), attempts: hedges, budget: nil))
        }
        gates.append(AttemptTimeout(.milliseconds(250)))
        return Stack(gates + [Watch(gate: gate, number: number), gate, Sent(number: number)])
    }

    static func answer(_ dice: inout Dice) -> MockResponse {
        let chunks = (0..<dice.roll(0...2)).map { _ in Data(repeating: 0x61, count: 10) }
        let answer: MockResponse =
            switch dice.roll(0...9) {
            case 0: .connectionRefused
            case 1: .connectionLost
            case 2, 3: .status(503, body: Data("x".utf8))
            case 4: .status(500)
            default:
                .stream(
                    chunks, every: .milliseconds(dice.roll(0...60)),
                    thenThrow: dice.chance(0.2) ? ClientError(.incomplete, "cut") : nil)
            }
        return answer.delayed(
            by: dice.chance(0.1) ? .seconds(100) : .milliseconds(dice.roll(0...150)))
    }
}

/// Stands around the gate.
private struct Watch: Interceptor {
    let gate: Endpoints
    let number: UInt64

    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let members = gate.members
        Law.holds(
            members.isEmpty || members.contains { $0.health.standing != .ejected }, number,
            "that never all are ejected")
        return try await next(request)
    }
}

/// Stands inside the gate.
private struct Sent: Interceptor {
    let number: UInt64

    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        Law.holds(
            request.options.connectTarget != nil, number, "that each request has an endpoint")
        return try await next(request)
    }
}

@Suite("Laws of endpoints")
struct EndpointLawsTests {
    @Test("No request is left under way, and nothing waits, whatever calls and lists meet")
    func underWay() async throws {
        for number in Law.runs { try await check(Run(number)) }
    }

    private func check(_ run: Run) async throws {
        try await Simulation(seed: Law.seed(run.number)).run { simulation in
            let clock = simulation.clock
            let dice = Mutex(Dice(seed: ~Law.seed(run.number)))
            let transport = MockTransport(recordLimit: 0) { _ in
                dice.withLock { Run.answer(&$0) }
            }
            let client = Client(transport, clock: clock, seed: run.number, run.stack)
            await withDiscardingTaskGroup { group in
                for caller in 0..<12 {
                    let seed = Law.seed(run.number) &* 31 &+ UInt64(caller)
                    group.addTask { await perform(client, Dice(seed: seed), clock) }
                }
            }
            let gate = run.gate
            await client.shutdown(grace: .seconds(300))
            Law.holds(gate.underWay == 0, run.number, "that the requests under way return to 0")
            let members = gate.members
            let ejected = members.count { $0.health.standing == .ejected }
            Law.holds(
                ejected <= run.health.mostEjected(of: members.count), run.number,
                "the bound of ejections")
        }
    }

    private func perform(_ client: Client, _ dice: Dice, _ clock: any TimeSource) async {
        let context = Context(timeSource: clock)
        var dice = dice
        let (pause, reading, key) = (dice.roll(0...900), dice.roll(0...4), dice.roll(0...3))
        try? await context.sleep(for: .milliseconds(pause))
        let call = client.get(service, headers: ["X-Key": "\(key)"])
        do {
            switch reading {
            case 0:
                // Cancelled at any moment.
                let running = call.start(Text())
                try await context.sleep(for: .milliseconds(pause / 3))
                running.cancel()
            case 1: _ = try await call.response()
            case 2:
                let response = try await call.response()
                for try await _ in response.body { break }
            default: _ = try await call.serialize(with: Text())
            }
        } catch {
            // Any error will do.
        }
    }

    // MARK: Choices

    @Test("A choice is of the list, of the well unless too few are, and untried while one is left")
    func choices() async throws {
        for number in Law.runs {
            var dice = Dice(seed: Law.seed(number))
            let clock = ManualClock()
            let run = Run(number)
            let lists = (0..<4).map { _ in
                let (first, count) = (dice.roll(0...4), dice.roll(1...6))
                return (first..<first + count).map { Endpoint.at($0) }
            }
            let health = EndpointHealth(
                consecutiveFailures: 1, ejection: .milliseconds(dice.roll(100...900)),
                maxEjected: dice.one(of: [0.1, 0.5, 1]), panic: run.health.panic)
            let resolver = ScriptedResolver { number, _ in
                EndpointList(lists[(number - 1) % 4], freshFor: .milliseconds(400))
            }
            let fleet = LoadBalancer(
                ServiceName("users.internal"),
                EndpointRules(
                    resolver: resolver, policy: .leastRequests, zone: nil, subset: nil,
                    health: health),
                meter: nil)
            try await walk(fleet, clock, health, number, &dice)
        }
    }

    private func walk(
        _ fleet: LoadBalancer, _ clock: ManualClock, _ health: EndpointHealth, _ number: UInt64,
        _ dice: inout Dice
    ) async throws {
        let next = Next(
            plan: Plan(gates: [], transport: MockTransport { _ in .ok() }), position: 0,
            context: Context(timeSource: clock))
        let origin = Origin(scheme: "http", host: "users.internal", port: 80)
        var leases: [(EndpointLease, Context)] = []
        for _ in 0..<dice.roll(4...20) {
            let call = Context(timeSource: clock)
            var tried: Set<ConnectTarget> = []
            for _ in 0..<dice.roll(1...4) {
                let view = try await fleet.view(in: call, for: origin, next)
                // As they were when the view was made: a list that comes may give some back.
                let well = Set(
                    (view.set.own.members + view.set.others.members).map(\.endpoint.target))
                let lease = try fleet.lease(of: view, for: Request(.get, service), in: call)
                Law.holds(well.contains(lease.target), number, "that it is well")
                Law.holds(
                    !tried.contains(lease.target) || well.isSubset(of: tried), number,
                    "that the untried come first")
                tried.insert(lease.target)
                leases.append((lease, call))
            }
            while !leases.isEmpty, dice.chance(0.7) {
                let (lease, call) = leases.remove(at: dice.roll(0...(leases.count - 1)))
                let verdict = dice.one(of: [CircuitVerdict.success, .failure, .ignored])
                fleet.conclude(lease, verdict, in: call)
            }
            // A list may come at any moment, so all is asked of one.
            let members = fleet.members
            let ejected = members.count { $0.health.standing == .ejected }
            let most = health.mostEjected(of: members.count)
            Law.holds(ejected <= most, number, "the bound of ejections")
            Law.holds(ejected < members.count, number, "that never all are ejected")
            clock.advance(by: .milliseconds(dice.roll(0...500)))
        }
        // Those that nobody has ended end with their leases.
        leases = []
        Law.holds(fleet.members.allSatisfy { $0.underWay == 0 }, number, "that all has ended")
        fleet.stop()
    }
}
