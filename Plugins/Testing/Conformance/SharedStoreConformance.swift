// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
public import TurnpikeSharedState
import TurnpikeSupport
import TurnpikeTraffic

/// The requirements for every store of shared state.
///
/// ```swift
/// @Test(arguments: SharedStoreConformance.checks)
/// func conforms(_ check: SharedStoreConformance.Check) async throws {
///     let clients = try [ValkeyServer(url: url), ValkeyServer(url: url)]
///     try await check.run(on: clients)
/// }
/// ```
///
/// The subject is a list of clients of one server. One client is enough for all checks. With two
/// clients, a check also detects state that the clients do not share. Each check uses separate keys
/// and does not remove the keys. Several checks may run at once, even on a server with other users.
///
/// The server's clock must run. Some checks wait for a few hundred milliseconds. In a check of less
/// than a minute, the counts do not depend on the speed of the server.
public enum SharedStoreConformance {
    /// One check of a store.
    public typealias Check = ConformanceCheck<[any SharedStore]>

    /// All checks.
    public static var checks: [Check] {
        quotas + times + changes + atOnce + cooldowns + locks + tokens + replicas + keys
    }

    /// The environment of a check, with two clients (possibly the same object) and a key.
    struct Site: Sendable {
        let first: any SharedStore
        let second: any SharedStore
        let key: String

        func take(
            _ rules: [QuotaRule], _ range: ClosedRange<Int> = 1...1, reach: Duration = .zero,
            key: String? = nil
        ) async throws -> QuotaAnswer {
            try await second.take(
                QuotaRequest(
                    key: key ?? self.key, rules: rules, minimum: range.lowerBound,
                    maximum: range.upperBound, reach: reach))
        }

        @discardableResult
        func take(
            _ count: Int, of rules: [QuotaRule], _ range: ClosedRange<Int> = 1...1,
            reach: Duration = .zero, key: String? = nil
        ) async throws -> QuotaGrant {
            let answer = try await take(rules, range, reach: reach, key: key)
            guard case .granted(let grant) = answer else {
                throw ConformanceFailure("expected \(count) permits; found \(answer)")
            }
            try require(
                grant.permits == count, "got \(grant.permits) permits instead of \(count)")
            try require(
                grant.offsets.count == rules.count,
                "got \(grant.offsets.count) offsets for \(rules.count) rules")
            return grant
        }

        func takeNothing(
            of rules: [QuotaRule], reach: Duration = .zero, firstAfter time: Duration,
            key: String? = nil
        ) async throws {
            let answer = try await take(rules, reach: reach, key: key)
            guard case .exhausted(let wait) = answer else {
                throw ConformanceFailure("expected no permits; found \(answer)")
            }
            try requireTime(wait, time, "the time until the next permit")
        }
    }

    static func check(
        _ name: String, _ body: @escaping @Sendable (Site) async throws -> Void
    ) -> Check {
        Check(name) { clients in
            guard let first = clients.first, let second = clients.last else {
                throw ConformanceFailure("there is no store to check")
            }
            var generator = SystemRandomNumberGenerator()
            let key = "conformance-" + String(generator.next(), radix: 36)
            try await body(Site(first: first, second: second, key: key))
        }
    }

    /// Returns a rule with one permit per hour, because no new permit must be due during a check.
    static func hourly(_ burst: Double) -> QuotaRule {
        QuotaRule(1, per: hour, burst: burst)
    }

    static let hour = Duration.seconds(3600)

    /// Requires that a time from the store is the expected time, minus the duration of the check.
    static func requireTime(_ found: Duration, _ expected: Duration, _ what: String) throws {
        // A store may round up, for instance to a millisecond.
        let range = (expected - .seconds(60))...(expected + .milliseconds(10))
        try require(range.contains(found), "\(what) is \(found), not \(expected)")
    }

    static func wait(
        for what: String, _ condition: @Sendable () async throws -> Bool
    ) async throws {
        let clock = SystemTimeSource()
        let begin = clock.now
        while try await !condition() {
            guard begin.duration(to: clock.now) < .seconds(5) else {
                throw ConformanceFailure("\(what) does not happen within 5 s")
            }
            try await pause(.milliseconds(10))
        }
    }

    static func pause(_ duration: Duration) async throws {
        let moment = OneShot<Void>()
        let timer = SystemTimeSource().schedule(after: duration) { moment.settle(.success(())) }
        defer { timer.cancel() }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }
}
