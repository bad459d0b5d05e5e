// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSharedState
import TurnpikeTraffic
import TurnpikeValkey

/// What becomes of shared state if the server's clock, its data or its rights are not as usual.
@Suite(
    "Shared state over an odd server", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct SharedFaultTests {
    private let peer: ValkeyPeer
    private let store: ValkeyServer
    private let request = QuotaRequest(key: "k", rules: [hourly(5)])
    private let quotaKey = "turnpike:{k}:quota:1.0/3600000000000/5.0"

    init() throws {
        peer = try ValkeyPeer()
        store = try ValkeyServer(url: peer.url)
    }

    // The server's time as its keys have it, in microseconds.
    private func now() throws -> Int {
        let time = try #require(try peer.command("TIME").list)
        let seconds = try #require(time[0].integer)
        return (seconds - 1_767_225_600) * 1_000_000 + (time[1].integer ?? 0)
    }

    private func error(_ body: () async throws -> Void) async throws -> ClientError {
        try #require(await #expect(throws: ClientError.self) { try await body() })
    }

    @Test("After the server's clock went back, the quota is as it was, and goes on")
    func clockBack() async throws {
        // Written an hour later, by the clock of now: 4 of 5 permits are gone, so the next is due.
        let hour = 3_600_000_000
        let later = try now() + hour
        try peer.command("SET", quotaKey, "\(5 * hour) \(later)")
        let wait = try #require(try await store.wait(request))
        #expect(wait == .seconds(3600))
        // The hour that it went back does not have to pass once more.
        let written = try #require(try peer.command("GET", quotaKey).text?.split(separator: " "))
        #expect(written[0] == "18000000000")
        #expect(try Int(written[1]) ?? .max <= now())
        let next = try #require(try await store.wait(request))
        #expect(next < .seconds(3600) && next > .seconds(3590))
    }

    @Test("A clock that went back lets no more permits go than there are")
    func clockBackTaking() async throws {
        let hour = 3_600_000_000
        try peer.command("SET", quotaKey, "\(2 * hour) \(now() + 50 * hour)")
        var all = request
        all.maximum = 10
        #expect(try await store.taken(all) == 3)
        #expect(try await store.taken(all) == nil)
    }

    @Test(
        "A value that is no state counts as none",
        arguments: ["", "x", "1", "nan 1", "inf 1", "-5 1", "1 2 3", "0x10 1", "1e999 0", "5 nan"])
    func garbage(_ value: String) async throws {
        try peer.command("SET", quotaKey, value)
        try await store.giveBack(-1, to: "k", rules: [hourly(5)])
        var all = request
        all.maximum = 10
        #expect(try await store.taken(all) == (value == "1e999 0" ? nil : 4))
    }

    @Test("A key of another type is named, and nothing is taken")
    func anotherType() async throws {
        let other = "quota:1.0/3600000000000/6.0"
        for part in [other, "token", "fence", "replicas"] {
            try peer.command("SADD", "turnpike:{k}:\(part)", "member")
        }
        try peer.command("DEL", "turnpike:{k}:replicas")
        try peer.command("SET", "turnpike:{k}:replicas", "text")
        let rules = [hourly(5), hourly(6)]
        let faults = try await [
            (other, error { _ = try await store.take(QuotaRequest(key: "k", rules: rules)) }),
            (other, error { try await store.giveBack(1, to: "k", rules: rules) }),
            (other, error { try await store.lower(to: 1, of: "k", rule: 1, rules: rules) }),
            (
                "token",
                error { _ = try await store.store(StoredToken(Data(), fence: 1), "k", for: nil) }
            ),
            ("token", error { _ = try await store.token("k") }),
            ("fence", error { _ = try await store.lock("k", for: .seconds(1)) }),
            ("replicas", error { _ = try await store.beat("a", of: "k", for: .seconds(1)) }),
        ]
        for (part, fault) in faults {
            #expect(fault.message.contains("WRONGTYPE"), "\(fault)")
            #expect(fault.message.contains("delete it"), "\(fault)")
            if part != "token" {
                #expect(fault.message.contains("turnpike:{k}:\(part)"), "\(fault)")
            }
        }
        #expect(try peer.command("EXISTS", quotaKey) == .integer(0))
    }

    @Test("A quota that is whole has no key, and no key is left for ever")
    func expiry() async throws {
        let rules = [QuotaRule(1000, per: .seconds(1), burst: 5), QuotaRule(1, per: .seconds(9))]
        try await store.giveBack(-1, to: "k", rules: [rules[0]])
        try peer.wait(for: "the end of the key") {
            try peer.command("DBSIZE") == .integer(0)
        }
        _ = try await store.take(QuotaRequest(key: "k", rules: rules))
        try await store.giveBack(1, to: "k", rules: rules)
        #expect(try peer.command("DBSIZE") == .integer(0))
        _ = try await store.take(QuotaRequest(key: "k", rules: rules))
        try await store.coolDown(for: .seconds(5), "k")
        _ = try await store.lock("k", for: .seconds(5))
        _ = try await store.store(StoredToken(Data("x".utf8), fence: 1), "k", for: .seconds(5))
        _ = try await store.beat("a", of: "k", for: .seconds(5))
        let keys = try #require(try peer.command("KEYS", "*").list).compactMap(\.text)
        #expect(keys.count >= 6)
        for key in keys {
            // The first quota may have ended meanwhile.
            #expect(try peer.command("PTTL", key).integer != -1, "\(key)")
        }
    }

    @Test("Rates and bursts at their bounds neither overflow nor trap")
    func bounds() async throws {
        let year = Duration.seconds(366 * 86_400)
        let slow = QuotaRule(0, per: year, burst: 1e12)
        let fast = QuotaRule(1e12, per: .milliseconds(1), burst: 1e12)
        for rules in [[slow], [fast], [slow, fast]] {
            let key = "\(rules.count)\(rules[0].permits)"
            let most = QuotaRequest(key: key, rules: rules, maximum: .max, reach: .seconds(1 << 40))
            guard case .granted(let grant) = try await store.take(most) else {
                Issue.record("nothing was granted")
                continue
            }
            #expect(grant.permits > 0)
            try await store.giveBack(.min, to: key, rules: rules)
            _ = try await store.take(most)
            try await store.giveBack(.max, to: key, rules: rules)
            try await store.lower(to: -.infinity, of: key, rule: 0, rules: rules)
            try await store.lower(to: .nan, of: key, rule: 0, rules: rules)
            try await store.lower(to: 1, of: key, rule: 7, rules: rules)
            _ = try await store.take(
                QuotaRequest(key: key, rules: rules, minimum: .max, maximum: .max))
        }
        try await store.coolDown(for: .seconds(Int64.max), "k")
        #expect(try await store.cooldown(of: "k") ?? .zero > year)
        try await store.coolDown(for: .seconds(-1), "other")
        #expect(try await store.cooldown(of: "other") == nil)
    }

    @Test("A lock's numbers grow although the server has lost its data")
    func fenceAfterLoss() async throws {
        guard case .taken(let first) = try await store.lock("k", for: .seconds(100)) else {
            Issue.record("the lock is held")
            return
        }
        try peer.command("FLUSHALL")
        // A number of no millisecond yet: the next one is behind it.
        try peer.command("SET", "turnpike:{k}:fence", "\(first.fence + 1_000_000)")
        guard case .taken(let second) = try await store.lock("k", for: .seconds(100)) else {
            Issue.record("the lock is held")
            return
        }
        #expect(second.fence == first.fence + 1_000_001)
        try peer.command("FLUSHALL")
        try peer.command("SET", "turnpike:{k}:fence", "99999999999999999999")
        guard case .taken(let third) = try await store.lock("k", for: .seconds(100)) else {
            Issue.record("the lock is held")
            return
        }
        // Within the same millisecond it may be the same one.
        #expect(third.fence >= first.fence && third.fence < second.fence)
    }

    @Test("Replicas of a time that is yet to come do not count for long")
    func replicasAfterClockBack() async throws {
        let key = "turnpike:{g}:replicas"
        try peer.command("ZADD", key, "\((now() / 1000) + 1_767_225_600_000 + 3_600_000)", "late")
        #expect(try await store.beat("a", of: "g", for: .seconds(3)) == 1)
    }

    @Test("A user without the right to run scripts is told what to allow")
    func noPermission() async throws {
        try peer.command(
            "ACL", "SETUSER", "u", "on", ">hidden", "~turnpike:*", "+@all", "-eval", "-evalsha")
        let store = try ValkeyServer(url: "redis://u:hidden@127.0.0.1:\(peer.port)")
        let fault = try await error { _ = try await store.take(request) }
        #expect(fault.code == .auth)
        #expect(fault.message.contains("NOPERM") && fault.message.contains("+eval"), "\(fault)")
        #expect(!"\(fault)".contains("hidden"))
    }

    @Test("The rights that the documentation names are enough")
    func rights() async throws {
        let names = [
            "eval", "evalsha", "get", "getrange", "set", "del", "pttl", "pexpire", "time", "zadd",
            "zcard", "zremrangebyscore",
        ]
        let connection = try peer.connection()
        _ = try connection.send(
            ["ACL", "SETUSER", "u", "on", ">hidden", "~turnpike:*", "+select", "+ping"]
                + names.map { "+" + $0 })
        let store = try ValkeyServer(url: "redis://u:hidden@127.0.0.1:\(peer.port)")
        #expect(try await store.taken(request) == 1)
        try await store.giveBack(1, to: "k", rules: request.rules)
        try await store.lower(to: 1, of: "k", rule: 0, rules: request.rules)
        try await store.coolDown(for: .seconds(5), "k")
        #expect(try await store.cooldown(of: "k") != nil)
        #expect(try await store.store(StoredToken(Data("x".utf8), fence: 1), "k", for: nil))
        #expect(try await store.token("k") != nil)
        #expect(try await store.beat("a", of: "k", for: .seconds(5)) == 1)
        guard case .taken(let lock) = try await store.lock("k", for: .seconds(5)) else {
            Issue.record("the lock is held")
            return
        }
        try await store.unlock(lock)
        try peer.command("ACL", "SETUSER", "u", "-set")
        var other = request
        other.key = "other"
        let fault = try await error { _ = try await store.take(other) }
        // Within a script, the texts of Redis and Valkey do not begin with NOPERM.
        let texts = ["can't run this command", "no permissions", "ACL failure"]
        #expect(texts.contains { fault.message.contains($0) }, "\(fault)")
    }

    @Test("Full memory is reported as such, and a token that was sent is in no message")
    func fullMemory() async throws {
        try peer.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        try peer.command("CONFIG", "SET", "maxmemory", "1")
        for fault in try await [
            error { _ = try await store.take(request) },
            error { try await store.coolDown(for: .seconds(1), "k") },
            error { _ = try await store.lock("k", for: .seconds(1)) },
            error { _ = try await store.beat("a", of: "k", for: .seconds(1)) },
            error {
                let token = StoredToken(Data("hidden".utf8), fence: 1)
                _ = try await store.store(token, "k", for: nil)
            },
        ] {
            #expect(fault.message.contains("OOM") && fault.code == .overloaded, "\(fault)")
            #expect(!"\(fault)".contains("hidden"))
        }
        try peer.command("CONFIG", "SET", "maxmemory", "0")
        #expect(try await store.taken(request) == 1)
    }

    @Test("A replica without its primary refuses, and the primary of a replica is found")
    func readOnly() async throws {
        try peer.command("REPLICAOF", "127.0.0.1", "1")
        try peer.command("CONFIG", "SET", "replica-serve-stale-data", "yes")
        let fault = try await error { _ = try await store.take(request) }
        #expect(fault.code == .connection, "\(fault)")
        try peer.command("REPLICAOF", "NO", "ONE")
        // It looks for the primary again where it began.
        var taken = Int?.none
        try await eventually("an answer") {
            taken = try? await store.taken(request)
            return taken != nil
        }
        #expect(taken == 1)

        let pair = try ValkeyPair()
        let behind = try ValkeyServer(url: pair.second.url)
        #expect(try await behind.taken(request) == 1)
        #expect(try pair.first.command("EXISTS", quotaKey) == .integer(1))
    }
}
