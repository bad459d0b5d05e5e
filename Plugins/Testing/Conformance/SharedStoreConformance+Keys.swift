// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSharedState
import TurnpikeSupport

extension SharedStoreConformance {
    static var replicas: [Check] {
        [
            check("Each replica counts once, in its group") { site in
                for (store, name, count) in [
                    (site.first, "a", 1), (site.second, "b", 2), (site.second, "a", 2),
                    (site.first, "c d{}", 3),
                ] {
                    let found = try await store.beat(name, of: site.key, for: .seconds(100))
                    try require(found == count, "found \(found) replicas instead of \(count)")
                }
                let other = try await site.second.beat("a", of: site.key + "2", for: .seconds(100))
                try require(other == 1, "found \(other) replicas in another group")
            },
            check("A replica that stops does not count any more") { site in
                _ = try await site.first.beat("a", of: site.key, for: .seconds(100))
                let both = try await site.second.beat("b", of: site.key, for: .milliseconds(200))
                try require(both == 2, "found \(both) replicas instead of 2")
                try await wait(for: "The end of the replica") {
                    try await site.first.beat("a", of: site.key, for: .seconds(100)) == 1
                }
            },
        ]
    }

    // Characters that could have a special meaning in a store.
    private static let odd = [
        "{", "}", "{}", "}{", "{a}{b}", " ", "a b", "\"'`", "a:b:c", "%7B*?[]^$", "\\", "\r\n",
        "\t",
        "https://a.example:8443/x?y=z#1", "grüße 世界 😀", "-1", "nil", "\u{1}\u{7F}",
        String(repeating: "k", count: 1000), String(repeating: "世", count: 333),
    ]

    static var keys: [Check] {
        [
            check("Keys may contain any text") { site in
                for text in odd {
                    let key = text + site.key
                    do { try await useAll(site, key) } catch {
                        throw ConformanceFailure("the key “\(text.prefix(40))”: \(error)")
                    }
                }
            },
            check("Similar keys do not affect each other") { site in
                let rules = [hourly(2)]
                let key = site.key
                let alike = [
                    key, key + " ", " " + key, key + ":", key + ":0", key + "{", "{" + key,
                    "{" + key + "}", key + "}", key.uppercased(), key + "*", key + "\n",
                ]
                for key in alike {
                    try await site.take(2, of: rules, 1...10, key: key)
                    _ = try await taken(site.first, key, .seconds(100))
                }
                for key in alike {
                    try await site.takeNothing(of: rules, firstAfter: hour, key: key)
                }
            },
            check("The kinds of state under one key do not affect each other") { site in
                for _ in 0..<2 {
                    let found = try await site.first.beat("a", of: site.key, for: .seconds(100))
                    try require(found == 1, "found \(found) replicas instead of 1")
                }
                try await useAll(site, site.key)
                let lock = try await site.first.lock(site.key, for: .seconds(100))
                guard case .held = lock else { throw ConformanceFailure("the lock is gone") }
            },
        ]
    }

    private static func useAll(_ site: Site, _ key: String) async throws {
        let rules = [hourly(2), hourly(3)]
        try await site.take(2, of: rules, 1...10, key: key)
        let lock = try await taken(site.first, key, .seconds(100))
        let token = StoredToken(Data(key.utf8), fence: lock.fence)
        try require(
            try await site.first.store(token, key, for: .seconds(100)), "the token is refused")
        try await site.first.giveBack(1, to: key, rules: rules)
        try await site.take(1, of: rules, key: key)
        try await site.first.lower(to: 0, of: key, rule: 1, rules: rules)
        try await site.takeNothing(of: rules, firstAfter: hour, key: key)
        try require(try await site.second.token(key) == token, "the token is another one")
        try require(
            try await site.second.cooldown(of: key) == nil, "the key cools down without a reason")
        try await site.first.coolDown(for: .seconds(100), key)
        let answer = try await site.take(rules, key: key)
        guard case .coolingDown = answer else {
            throw ConformanceFailure("expected a cool-down; found \(answer)")
        }
    }
}

extension SharedStoreConformance {
    static var changes: [Check] {
        [
            check("Returned permits can be taken again") { site in
                let rules = [hourly(5), hourly(8)]
                try await site.take(5, of: rules, 1...10)
                try await site.first.giveBack(2, to: site.key, rules: rules)
                let grant = try await site.take(2, of: rules, 1...10)
                try requireOffsets(grant, hours: -1, -4)
                try await site.takeNothing(of: rules, firstAfter: hour)
            },
            check("Returned permits fill a quota at most to its burst") { site in
                let rules = [hourly(5)]
                try await site.first.giveBack(1, to: site.key, rules: rules)
                try await site.take(1, of: rules)
                try await site.first.giveBack(1000, to: site.key, rules: rules)
                try await site.take(5, of: rules, 1...10)
                try await site.takeNothing(of: rules, firstAfter: hour)
            },
            check("A negative number charges permits, even more permits than are left") { site in
                let rules = [hourly(5)]
                try await site.first.giveBack(-3, to: site.key, rules: rules)
                try await site.take(2, of: rules, 1...10)
                try await site.first.giveBack(-4, to: site.key, rules: rules)
                try await site.takeNothing(of: rules, firstAfter: hour * 5)
            },
            check("A charge stops a quota for at most two bursts and a period") { site in
                let rules = [hourly(2)]
                try await site.first.giveBack(-1_000_000_000, to: site.key, rules: rules)
                try await site.takeNothing(of: rules, firstAfter: hour * 4)
            },
            check("Lowering a quota leaves the given number of permits") { site in
                let rules = [hourly(5), hourly(9)]
                try await site.first.lower(to: 2, of: site.key, rule: 0, rules: rules)
                let grant = try await site.take(2, of: rules, 1...10)
                try requireOffsets(grant, hours: -1, -8)
                let key = site.key + "-second"
                try await site.first.lower(to: 0, of: key, rule: 1, rules: rules)
                try await site.takeNothing(of: rules, firstAfter: hour, key: key)
            },
            check("Lowering a quota never adds permits") { site in
                let rules = [hourly(5)]
                try await site.take(4, of: rules, 1...4)
                try await site.first.lower(to: 3, of: site.key, rule: 0, rules: rules)
                try await site.first.lower(to: 1000, of: site.key, rule: 0, rules: rules)
                try await site.take(1, of: rules, 1...10)
                try await site.first.lower(to: 0, of: site.key, rule: 0, rules: rules)
                try await site.takeNothing(of: rules, firstAfter: hour)
            },
            check("Lowering takes fractions") { site in
                let rules = [hourly(5)]
                try await site.first.lower(to: 0.5, of: site.key, rule: 0, rules: rules)
                try await site.takeNothing(of: rules, firstAfter: hour / 2)
            },
        ]
    }

    static var cooldowns: [Check] {
        [
            check("A cool-down refuses before the quota, takes no permits, and ends") { site in
                let rules = [hourly(3)]
                try await site.first.coolDown(for: .milliseconds(400), site.key)
                let answer = try await site.take(rules)
                guard case .coolingDown(let left) = answer else {
                    throw ConformanceFailure("expected a cool-down; found \(answer)")
                }
                try require(
                    left > .zero && left <= .milliseconds(401),
                    "the cool-down has \(left.text) left")
                try await wait(for: "The end of the cool-down") {
                    try await site.second.cooldown(of: site.key) == nil
                }
                try await site.take(3, of: rules, 1...10)
            },
            check("A cool-down also refuses before a quota that was used") { site in
                let rules = [hourly(3)]
                try await site.take(1, of: rules)
                try await site.first.coolDown(for: .seconds(100), site.key)
                let answer = try await site.take(rules)
                guard case .coolingDown(let left) = answer else {
                    throw ConformanceFailure("expected a cool-down; found \(answer)")
                }
                try requireTime(left, .seconds(100), "the time left")
            },
            check("A cool-down is prolonged, and never shortened") { site in
                try await site.first.coolDown(for: .seconds(1000), site.key)
                try await site.first.coolDown(for: .milliseconds(1), site.key)
                try await requireCooldown(site, .seconds(1000))
                try await site.first.coolDown(for: .seconds(2000), site.key)
                try await requireCooldown(site, .seconds(2000))
            },
            check("A cool-down of zero has no effect") { site in
                try await site.first.coolDown(for: .zero, site.key)
                let left = try await site.second.cooldown(of: site.key)
                try require(left == nil || left == .zero, "it has \(left ?? .zero) left")
                try await site.take(3, of: [hourly(3)], 1...10)
            },
            check("A cool-down of one key does not affect another key") { site in
                try await site.first.coolDown(for: .seconds(100), site.key)
                try require(
                    try await site.second.cooldown(of: site.key + "2") == nil,
                    "another key cools down")
                try await site.take(3, of: [hourly(3)], 1...10, key: site.key + "2")
            },
        ]
    }

    private static func requireCooldown(_ site: Site, _ expected: Duration) async throws {
        guard let left = try await site.second.cooldown(of: site.key) else {
            throw ConformanceFailure("the store forgets the cool-down")
        }
        try requireTime(left, expected, "the time left")
    }
}
