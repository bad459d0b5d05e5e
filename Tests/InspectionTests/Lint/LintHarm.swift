// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCache
import TurnpikeCore
import TurnpikeTesting
import TurnpikeTraffic

/// A mistake that does in a simulation what its story tells, and a stack in which nothing happens.
struct LintHarm: Sendable, CustomStringConvertible {
    let rule: String
    let wrong: @Sendable () -> Stack
    let right: @Sendable () -> Stack
    /// The base URL of the client, for the linter.
    var baseURL: Target?
    /// Whether the harm is done by such stacks.
    let happens: @Sendable (@Sendable () -> Stack, Simulation) async throws -> Bool

    init(
        _ rule: String, wrong: @escaping @Sendable () -> Stack,
        right: @escaping @Sendable () -> Stack,
        happens: @escaping @Sendable (Stack, Simulation) async throws -> Bool
    ) {
        self.rule = rule
        self.wrong = wrong
        self.right = right
        self.happens = { stack, simulation in try await happens(stack(), simulation) }
    }

    var description: String { rule }

    static let all = time + sends + orders + shares + hops + contents + states

    /// A client in a simulation.
    static func client(
        _ stack: Stack, _ simulation: Simulation, baseURL: Target = "https://a.test/",
        _ transport: MockTransport
    ) -> Client {
        Client(
            baseURL: baseURL, transport: transport, stack: stack, timeSource: simulation.clock,
            randomSource: simulation.random)
    }

    // MARK: Time

    static let time: [LintHarm] = [
        LintHarm(
            "deadline-missing",
            wrong: { [.retry(attempts: 10, maxRetryAfter: .seconds(600))] },
            right: { [.deadline(), .retry(attempts: 10, maxRetryAfter: .seconds(600))] },
            happens: { stack, simulation in
                let down = MockTransport([.any(.status(503, headers: ["Retry-After": "600"]))])
                _ = try? await client(stack, simulation, down).get("x").data()
                return simulation.elapsed > .seconds(3600)
            }),
        LintHarm(
            "deadline-inside-retry",
            wrong: { [.retry(attempts: 3), .deadline(.seconds(10))] },
            right: { [.deadline(.seconds(10)), .retry(attempts: 3)] },
            happens: { stack, simulation in
                let late = MockTransport([.any(.status(503).delayed(by: .seconds(9)))])
                _ = try? await client(stack, simulation, late).get("x").data()
                return simulation.elapsed > .seconds(10)
            }),
        LintHarm(
            "deadline-inside-redirect",
            wrong: { [.redirect(limit: 4), .deadline(.seconds(10))] },
            right: { [.deadline(.seconds(10)), .redirect(limit: 4)] },
            happens: { stack, simulation in
                let server = MockTransport { request in
                    let next = Int(request.url.lastPathComponent) ?? 0
                    return .status(302, headers: ["Location": "/\(next + 1)"])
                        .delayed(by: .seconds(9))
                }
                _ = try? await client(stack, simulation, server).get("0").data()
                return simulation.elapsed > .seconds(10)
            }),
        LintHarm(
            "deadline-inside-wait",
            wrong: { [.rateLimit(perSecond: 0.1), .deadline(.seconds(2))] },
            right: { [.deadline(.seconds(2)), .rateLimit(perSecond: 0.1)] },
            happens: { stack, simulation in
                let client = client(stack, simulation, MockTransport([.any(.ok(text: "x"))]))
                _ = try? await client.get("x").data()
                _ = try? await client.get("x").data()
                return simulation.elapsed > .seconds(2)
            }),
        LintHarm(
            "attempt-timeout-outside-retry",
            wrong: { [.attemptTimeout(.seconds(5)), .retry(attempts: 3)] },
            right: { [.retry(attempts: 3), .attemptTimeout(.seconds(5))] },
            happens: { stack, simulation in
                let server = MockTransport([
                    .any(.ok().delayed(by: .seconds(60)), .ok(text: "x"))
                ])
                let text = try? await client(stack, simulation, server).get("x").string()
                return text == nil
            }),
        LintHarm(
            "attempt-timeout-outside-hedge",
            wrong: { [.attemptTimeout(.seconds(5)), .hedge(after: .seconds(4))] },
            right: { [.hedge(after: .seconds(4)), .attemptTimeout(.seconds(5))] },
            happens: { stack, simulation in
                let server = MockTransport([
                    .any(.ok().delayed(by: .seconds(60)), .ok(text: "x").delayed(by: .seconds(2)))
                ])
                let text = try? await client(stack, simulation, server).get("x").string()
                return text == nil
            }),
        LintHarm(
            "attempt-timeout-outside-wait",
            wrong: { [.attemptTimeout(.seconds(2)), .rateLimit(perSecond: 0.2)] },
            right: { [.rateLimit(perSecond: 0.2), .attemptTimeout(.seconds(2))] },
            happens: { stack, simulation in
                let client = client(stack, simulation, MockTransport([.any(.ok(text: "x"))]))
                _ = try? await client.get("x").string()
                return (try? await client.get("x").string()) == nil
            }),
        LintHarm(
            "attempt-timeout-beyond-deadline",
            wrong: {
                [.deadline(.seconds(9)), .retry(attempts: 3), .attemptTimeout(.seconds(10))]
            },
            right: { [.deadline(.seconds(9)), .retry(attempts: 3), .attemptTimeout(.seconds(3))] },
            happens: { stack, simulation in
                let server = MockTransport([
                    .any(.ok().delayed(by: .seconds(60)), .ok(text: "x"))
                ])
                let text = try? await client(stack, simulation, server).get("x").string()
                return text == nil
            }),
    ]

    // MARK: Sends

    static let sends: [LintHarm] = [
        LintHarm(
            "breaker-outside-retry",
            wrong: { [.circuitBreaker(minimum: 4), .retry(attempts: 5)] },
            right: { [.retry(attempts: 5), .circuitBreaker(minimum: 4)] },
            happens: { stack, simulation in
                let down = MockTransport([.any(.status(500))])
                let client = client(stack, simulation, down)
                for _ in 0..<10 { _ = try? await client.get("x").data() }
                return down.sentCount > 4
            }),
        LintHarm(
            "rate-limit-outside-retry",
            wrong: { [.rateLimit(perSecond: 0.01), .retry(attempts: 3, budget: nil)] },
            right: { [.retry(attempts: 3, budget: nil), .rateLimit(perSecond: 0.01)] },
            happens: { stack, simulation in
                let down = MockTransport([.any(.status(503))])
                _ = try? await client(stack, simulation, down).get("x").data()
                return down.sentCount == 3 && simulation.elapsed < .seconds(100)
            }),
        LintHarm(
            "breaker-without-attempt-timeout",
            wrong: { [.deadline(.seconds(5)), .circuitBreaker(minimum: 2)] },
            right: {
                [.deadline(.seconds(5)), .circuitBreaker(minimum: 2), .attemptTimeout(.seconds(2))]
            },
            happens: { stack, simulation in
                let hang = MockTransport([.any(.ok().delayed(by: .seconds(600)))])
                let client = client(stack, simulation, hang)
                for _ in 0..<6 { _ = try? await client.get("x").data() }
                return hang.sentCount == 6
            }),
        LintHarm(
            "hedge-outside-retry",
            wrong: { [.hedge(after: .milliseconds(1)), .retry(attempts: 3)] },
            right: { [.retry(attempts: 3), .hedge(after: .milliseconds(1))] },
            happens: { stack, simulation in
                // Good heads at once, whose content comes late.
                let server = MockTransport([
                    .any(.stream([Data("x".utf8)], every: .milliseconds(100)))
                ])
                _ = try? await client(stack, simulation, server).get("x").data()
                return server.sentCount > 1
            }),
        LintHarm(
            "hedge-inside-concurrency-limit",
            wrong: { [.concurrencyLimit(total: 1), .hedge(after: .seconds(1))] },
            right: { [.hedge(after: .seconds(1)), .concurrencyLimit(total: 1)] },
            happens: { stack, simulation in
                let slow = MockTransport([.any(.ok(text: "x").delayed(by: .seconds(10)))])
                let call = client(stack, simulation, slow).get("x")
                async let text = call.string()
                try await simulation.pause(.seconds(5))
                let isBeyond = slow.sentCount == 2
                _ = try await text
                return isBeyond
            }),
        LintHarm(
            "hedge-never",
            wrong: {
                [.retry(attempts: 1), .hedge(after: .seconds(5)), .attemptTimeout(.seconds(5))]
            },
            right: { [.hedge(after: .seconds(1)), .attemptTimeout(.seconds(5))] },
            happens: { stack, simulation in
                let hang = MockTransport([.any(.ok().delayed(by: .seconds(60)))])
                _ = try? await client(stack, simulation, hang).get("x").data()
                return hang.sentCount == 1
            }),
        LintHarm(
            "two-retries",
            wrong: { [.retry(attempts: 3, budget: nil), .retry(attempts: 3, budget: nil)] },
            right: { [.retry(attempts: 3, budget: nil)] },
            happens: { stack, simulation in
                let down = MockTransport([.any(.status(503))])
                _ = try? await client(stack, simulation, down).get("x").data()
                return down.sentCount == 9
            }),
        LintHarm(
            "sends-beyond-limit",
            wrong: { [.retry(attempts: 4, budget: nil), .retry(attempts: 4, budget: nil)] },
            right: { [.retry(attempts: 4, budget: nil), .retry(attempts: 3, budget: nil)] },
            happens: { stack, simulation in
                let down = MockTransport([.any(.status(503))])
                do {
                    _ = try await client(stack + [.validate()], simulation, down).get("x").data()
                } catch ClientError.Code.sendLimit {
                    return true
                } catch {}
                return false
            }),
        LintHarm(
            "key-inside-retry",
            wrong: { [.retry(attempts: 3), .idempotencyKey()] },
            right: { [.idempotencyKey(), .retry(attempts: 3)] },
            happens: { stack, simulation in
                let server = MockTransport([.any(.status(503), .ok(text: "x"))])
                let client = client(stack, simulation, server)
                _ = try? await client.request(.post, "x").response()
                return server.sentCount == 1
            }),
        LintHarm(
            "unsafe-retry-without-key",
            wrong: { [.retry(attempts: 3, policy: RetryPolicy(methods: [.post]))] },
            right: {
                [.idempotencyKey(), .retry(attempts: 3, policy: RetryPolicy(methods: [.post]))]
            },
            happens: { stack, simulation in
                let orders = Mutex<[String?]>([])
                // The order is taken, and the answer lost.
                let server = MockTransport { request in
                    orders.withLock { $0.append(request.headers[.idempotencyKey]) }
                    return .status(503)
                }
                let client = client(stack, simulation, server)
                _ = try? await client.request(.post, "x").response()
                let taken = orders.withLock { $0 }
                return taken.count(where: { $0 == nil }) + Set(taken.compactMap(\.self)).count > 1
            }),
        LintHarm(
            "fallback-hides-failures",
            wrong: { [.retry(attempts: 3), .fallback(status: .ok)] },
            right: { [.fallback(status: .ok), .retry(attempts: 3)] },
            happens: { stack, simulation in
                let server = MockTransport([.any(.status(503), .ok(text: "x"))])
                _ = try await client(stack, simulation, server).get("x").response()
                return server.sentCount == 1
            }),
        LintHarm(
            "fallback-inside-deadline",
            wrong: { [.deadline(.seconds(3)), .fallback(status: .ok)] },
            right: { [.fallback(status: .ok), .deadline(.seconds(3))] },
            happens: { stack, simulation in
                let hang = MockTransport([.any(.ok().delayed(by: .seconds(60)))])
                return (try? await client(stack, simulation, hang).get("x").data()) == nil
            }),
        LintHarm(
            "stale-stamp",
            wrong: { [DateStamp(), .retry(attempts: 2)] },
            right: { [.retry(attempts: 2), DateStamp()] },
            happens: { stack, simulation in
                let dates = Mutex<Set<String>>([])
                let server = MockTransport { request in
                    dates.withLock { _ = $0.insert(request.headers["X-Date"] ?? "") }
                    return .status(503, headers: ["Retry-After": "5"])
                }
                _ = try? await client(stack, simulation, server).get("x").data()
                return dates.withLock { $0.count } == 1
            }),
    ]
}

/// Puts the time into a request, as signatures do.
private struct DateStamp: SynchronousRequestAdapter {
    func facts(for request: Request?) -> GateFacts? {
        GateFacts("stamps the time", .setsFields(["X-Date"], .plain), .stampsTime(valid: nil))
    }

    func adapt(_ request: inout Request, context: Context) {
        request.headers["X-Date"] = "\(context.timeSource.date.timeIntervalSince1970)"
    }
}
