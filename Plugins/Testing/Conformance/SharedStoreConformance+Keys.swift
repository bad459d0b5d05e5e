// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeMiddleware

extension SharedStoreConformance {
    static var replicas: [Check] {
        [
            check("Each replica counts once, in its group") { site in
                for (store, name, count) in [
                    (site.first, "a", 1), (site.second, "b", 2), (site.second, "a", 2),
                    (site.first, "c d{}", 3),
                ] {
                    let found = try await store.beat(name, of: site.key, for: .seconds(100))
                    try require(found == count, "it counts \(found) replicas instead of \(count)")
                }
                let other = try await site.second.beat("a", of: site.key + "2", for: .seconds(100))
                try require(other == 1, "it counts \(other) replicas in another group")
            },
            check("A replica that stops does not count any more") { site in
                _ = try await site.first.beat("a", of: site.key, for: .seconds(100))
                let both = try await site.second.beat("b", of: site.key, for: .milliseconds(200))
                try require(both == 2, "it counts \(both) replicas instead of 2")
                try await wait(for: "The end of the replica") {
                    try await site.first.beat("a", of: site.key, for: .seconds(100)) == 1
                }
            },
        ]
    }

    // What a store could take for syntax of its own.
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
            check("Keys that are alike do not touch") { site in
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
            check("Quota, cool-down, token, lock and replicas of one key do not touch") { site in
                for _ in 0..<2 {
                    let found = try await site.first.beat("a", of: site.key, for: .seconds(100))
                    try require(found == 1, "it counts \(found) replicas instead of 1")
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
            try await site.second.cooldown(of: key) == nil, "it cools down without a reason")
        try await site.first.coolDown(for: .seconds(100), key)
        let answer = try await site.take(rules, key: key)
        guard case .coolingDown = answer else {
            throw ConformanceFailure("it should cool down, but it says \(answer)")
        }
    }
}
