// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Turnpike
import TurnpikeAuthentication
import TurnpikeCache
import TurnpikeCore
import TurnpikeTesting
import TurnpikeTraffic

/// A stack that chance made, and what an adversary must know of it.
struct RandomStack: Sendable {
    let number: UInt64
    let request: Request
    private(set) var gates: [any Gate] = []
    private(set) var deadline: Duration?
    private(set) var attemptTimeout: Duration?
    private(set) var hedgeDelay: Duration?
    private(set) var attempts = 1
    private(set) var hops = 0
    private(set) var longestRetryAfter = 0
    private(set) var tokenLimit: Duration?

    /// Creates a stack.
    /// - Parameters:
    ///   - number: The number of the run, which decides everything.
    ///   - isOrderly: Whether the gates keep the order of the documentation.
    init(_ number: UInt64, isOrderly: Bool = false) {
        var dice = Dice(seed: Law.seed(number) ^ 0xB0D5)
        self.number = number
        let methods: [HTTPMethod] = [.get, .get, .get, .put, .post, .delete]
        var options = RequestOptions()
        if dice.chance(0.1) { options.isRetryable = dice.chance(0.5) }
        if dice.chance(0.15) { options.isStreaming = true }
        let method = dice.one(of: methods)
        let body: RequestBody = method == .put || method == .post ? .text("content") : .empty
        request = Request(method, anywhere, body: body, options: options)
        var gates = makeGates(&dice)
        // Of its own, so that the other gates are the same as without it.
        var other = Dice(seed: ~Law.seed(number))
        if other.chance(0.1) {
            let faults: [Chaos.Fault] = [
                .error(.connection), .status(503), .droppedBody,
                .latency(.milliseconds(other.roll(0...3000))),
            ]
            gates.append(Chaos(other.one(of: faults), rate: 0.7, switch: Switch()))
        }
        // Most orders are those of the documentation; some are any.
        if dice.chance(0.35), !isOrderly, gates.count > 1 {
            for index in gates.indices.dropLast() {
                gates.swapAt(index, dice.roll(index...(gates.count - 1)))
            }
        }
        if dice.chance(0.2), !isOrderly, gates.count > 2 {
            let first = dice.roll(0...(gates.count - 2))
            let inner = Stack(Array(gates[first...(first + 1)]))
            let group: any Gate =
                switch dice.roll(0...3) {
                case 0 where other.chance(0.5):
                    Switched(by: Switch(share: other.one(of: [0, 0.5, 1])), inner)
                case 0: Group(inner)
                case 1: When({ $0.method == .get }, then: inner)
                case 2: When({ $0.headers.contains("X-Mark") }, then: inner)
                default: Only(for: [Self.home], inner)
                }
            gates.replaceSubrange(first...(first + 1), with: [group])
        }
        self.gates = gates
    }

    private static let home = Origin(scheme: "http", host: "a.example", port: 80)

    private mutating func makeGates(_ dice: inout Dice) -> [any Gate] {
        var gates: [any Gate] = []
        if dice.chance(0.1) { gates.append(Fallback(status: 200)) }
        if dice.chance(0.6) {
            let limit = Duration.milliseconds(dice.roll(1...40_000))
            deadline = limit
            gates.append(Deadline(limit))
        }
        if dice.chance(0.4) { gates.append(Validate()) }
        if dice.chance(0.1) { gates.append(SetHeaders(["X-Mark": "1"])) }
        if dice.chance(0.35) {
            hops = dice.roll(0...4)
            gates.append(Redirect(limit: hops))
        }
        if dice.chance(0.1) { gates.append(Cache(MemoryStore())) }
        if dice.chance(0.08) { gates.append(Coalesce(maxBody: dice.roll(0...20))) }
        for _ in 0..<(dice.chance(0.1) ? 2 : dice.chance(0.7) ? 1 : 0) {
            gates.append(makeRetry(&dice))
        }
        if dice.chance(0.08) {
            let tokens = BearerTokens(
                provider: SlowTokens(dice.chance(0.5) ? .milliseconds(dice.roll(0...4000)) : nil),
                policy: RefreshPolicy(maxRefreshes: 20, timeLimit: .milliseconds(2500)))
            tokenLimit = .milliseconds(2500)
            gates.append(BearerAuthentication(tokens, origins: ["http://a.example"]))
        }
        if dice.chance(0.05) {
            gates.append(DigestAuthentication(user: "u", password: "p", origins: .own))
        }
        if dice.chance(0.2) {
            let delay = Duration.milliseconds(dice.roll(0...2000))
            hedgeDelay = delay
            gates.append(
                Hedge(
                    after: dice.chance(0.8) ? .fixed(delay) : .percentile(initially: delay),
                    attempts: dice.roll(1...4), budget: nil))
        }
        if dice.chance(0.1) {
            gates.append(
                RateLimit(perSecond: Double(dice.roll(1...20)), queue: dice.roll(0...3)))
        }
        if dice.chance(0.08) {
            gates.append(ConcurrencyLimit(total: dice.roll(1...3), queue: dice.roll(0...1)))
        }
        if dice.chance(0.05) { gates.append(CircuitBreaker(minimum: dice.roll(1...5))) }
        if dice.chance(0.7) {
            let limit = Duration.milliseconds(dice.roll(1...5000))
            attemptTimeout = limit
            gates.append(AttemptTimeout(limit))
        }
        if dice.chance(0.3) { gates.append(IdleTimeout(.milliseconds(dice.roll(1...3000)))) }
        if dice.chance(0.3) { gates.append(Limits(.init(body: dice.roll(0...100)))) }
        return gates
    }

    private mutating func makeRetry(_ dice: inout Dice) -> Retry {
        let attempts = dice.roll(1...6)
        self.attempts *= attempts
        longestRetryAfter = dice.roll(0...20)
        let jitters: [Backoff.Jitter] = [.full, .decorrelated, .none]
        return Retry(
            attempts: attempts,
            backoff: Backoff(
                base: .milliseconds(dice.roll(0...2000)),
                throttledBase: dice.chance(0.5) ? .milliseconds(dice.roll(0...3000)) : nil,
                max: .milliseconds(dice.roll(1...9000)), jitter: dice.one(of: jitters)),
            maxRetryAfter: .seconds(longestRetryAfter), budget: nil,
            maxKeptBytes: dice.chance(0.5) ? 0 : dice.roll(1...200))
    }
}

/// Gives a token after a time, or never.
struct SlowTokens: BearerTokenProvider {
    private let time: Duration?

    init(_ time: Duration?) { self.time = time }

    func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken {
        try await exchange.context.sleep(for: time ?? .seconds(1_000_000))
        return BearerToken("t\(exchange.context.random.next())")
    }
}
