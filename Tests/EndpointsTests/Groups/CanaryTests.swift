// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeInspection
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Canary")
struct CanaryTests {
    private let own = "https://api.example/v1/"
    private let next = "https://next.example:8443/v2/"

    // MARK: Keys

    private static func group(_ number: Int) -> String { "https://g\(number).example/" }

    private static func canary(_ weights: [Double]) -> Canary {
        let groups = weights.enumerated().map { (group($0), $1) }
        return Canary(of: group(0), groups: Dictionary(uniqueKeysWithValues: groups))
    }

    /// Where each key goes.
    private static func places(_ weights: [Double], _ count: Int) -> [Int] {
        let gate = canary(weights)
        let places = (0..<weights.count).map { (group($0), $0) }
        let numbers = Dictionary(uniqueKeysWithValues: places)
        return (0..<count).map { key in
            let url = gate.group(of: EndpointHash.of("user \(key)"))
            return url.flatMap { numbers[$0.description] } ?? -1
        }
    }

    private static func weights(_ dice: inout Dice) -> ([Double], [Double]) {
        let old = [1.0] + (1..<dice.roll(2...5)).map { _ in Double(dice.roll(0...20)) }
        var new = old.map { dice.chance(0.5) ? $0 : Double(dice.roll(0...20)) }
        if dice.chance(0.3) {
            new = old
            new[dice.roll(0...(old.count - 1))] = Double(dice.roll(1...40))
        }
        if !new.contains(where: { $0 > 0 }) { new[0] = 1 }
        return (old, new)
    }

    @Test("A key moves only to a group that has gained against the one it leaves")
    func moves() {
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let (old, new) = Self.weights(&dice)
            for (from, to) in zip(Self.places(old, 300), Self.places(new, 300)) where from != to {
                Law.holds(from >= 0 && to >= 0, run, "a group")
                Law.holds(new[to] * old[from] > old[to] * new[from], run, "\(old), \(new): a gain")
            }
        }
    }

    @Test("No more keys move than the shares change, and each group has its share")
    func count() {
        let keys = 2000
        for run in Law.runs {
            var dice = Dice(seed: Law.seed(run))
            let (old, new) = Self.weights(&dice)
            let (before, after) = (Self.places(old, keys), Self.places(new, keys))
            let sums = (old.reduce(0, +), new.reduce(0, +))
            let change = zip(old, new).reduce(0) { $0 + abs($1.0 / sums.0 - $1.1 / sums.1) }
            let isLeast = old.count == 2 || zip(old, new).count(where: { $0 != $1 }) == 1
            let moved = Double(zip(before, after).count { $0 != $1 }) / Double(keys)
            Law.holds(
                moved <= (isLeast ? change / 2 : change) + 0.07, run,
                "\(old), \(new): \(moved) moved, the bound")
            for (place, weight) in new.enumerated() {
                let share = Double(after.count { $0 == place }) / Double(keys)
                Law.holds(abs(share - weight / sums.1) < 0.07, run, "the share of group \(place)")
            }
        }
    }

    @Test("A change by 5 % of two groups moves 5 % of the keys, all of them to the one that grows")
    func step() {
        let (before, after) = (Self.places([95, 5], 20_000), Self.places([90, 10], 20_000))
        let moved = zip(before, after).filter { $0 != $1 }
        #expect(moved.allSatisfy { $0 == (0, 1) })
        #expect((900...1100).contains(moved.count), "\(moved.count)")
    }

    @Test("Without a key, all attempts of a call go to one group, and calls go to both")
    func calls() async throws {
        let transport = MockTransport { _ in .status(503) }
        let client = Client(
            transport, clock: SystemTimeSource(),
            Retry(attempts: 2, backoff: Backoff(base: .zero, max: .zero), budget: nil),
            Canary(of: own, groups: [own: 1, next: 1]))
        for _ in 0..<40 { _ = try await client.get(Target(own + "a")).response() }
        let hosts = transport.sent.map { $0.request.origin?.host ?? "" }
        #expect(hosts.count == 80)
        for call in 0..<40 { #expect(hosts[2 * call] == hosts[2 * call + 1]) }
        #expect(Set(hosts).count == 2)
    }

    // MARK: URLs

    @Test(
        "What is below the base URL goes below that of the group; all else stays",
        arguments: [
            (
                "https://api.example/v1/users/7?a=%20b",
                "https://next.example:8443/v2/users/7?a=%20b"
            ),
            ("https://API.example:443/v1/", "https://next.example:8443/v2/"),
            ("https://api.example/v1//x", "https://next.example:8443/v2//x"),
            ("https://api.example/v1", nil), ("https://api.example/v10/x", nil),
            ("https://api.example/v1/../admin", nil), ("http://api.example/v1/x", nil),
            ("https://api.example:8443/v1/x", nil), ("https://api.example.evil/v1/x", nil),
        ])
    func urls(url: String, moved: String?) async throws {
        let transport = MockTransport { _ in .ok() }
        let gate = Canary(of: "https://api.example/v1", groups: [next: 1])
        var request = Request(.get, url, headers: ["Authorization": "a", "Host": "api.example"])
        #expect((gate.facts(for: request)?.passedOver == nil) == (moved != nil))
        request.options.connectTarget = .host("10.0.0.7", port: 443)
        let before = request
        try gate.adapt(&request, context: Context())
        #expect(request.url.absoluteString == moved ?? before.url.absoluteString)
        #expect(request.headers["Authorization"] == "a")
        #expect((request.options.connectTarget == nil) == (moved != nil))
        #expect(request.headers.contains(.host) == (moved == nil))
        let client = Client(transport, gate)
        _ = try await client.get(Target(url)).response()
        #expect(transport.sent.first?.request.url.absoluteString == request.url.absoluteString)
    }

    @Test(
        "A fault of the settings fails each call",
        arguments: [
            ("http://next.example/", 1, "expected https"), ("https://n.example/?a", 1, "base URL"),
            ("https://u:secret@n.example/", 1, "base URL"), ("next", 1, "base URL"),
            ("https://n.example/", 0, "not all 0"), ("https://n.example/", -1, "0 to 1e9"),
            ("https://n.example/", .nan, "0 to 1e9"),
        ])
    func faults(url: String, weight: Double, part: String) async throws {
        let gate = Canary(of: own, groups: [url: weight])
        let fault = try #require(gate.fault)
        #expect(fault.code == .configuration && fault.message.contains(part), "\(fault.message)")
        #expect(!fault.message.contains("secret"))
        let transport = MockTransport { _ in .ok() }
        #expect(await code(of: Client(transport, gate).get(anywhere)) == .configuration)
        #expect(transport.sentCount == 0)
    }

    @Test("A gate for credentials inside keeps to its own origin; the linter finds it outside")
    func credentials() async throws {
        let transport = MockTransport { _ in .ok() }
        let gate = Canary(of: own, groups: [next: 1])
        let bearer: BearerAuthentication = .bearer(token: "t", origins: ["https://api.example"])
        _ = try await Client(transport, gate, bearer).get(Target(own)).response()
        #expect(transport.sent.first?.request.headers.contains(.authorization) == false)
        func findings(_ gates: any Gate...) -> [String] {
            Stack([Deadline(.seconds(9))] + gates).lint(for: transport).map(\.description)
        }
        let message = "A credential for the service's own origin would go to each group."
        #expect(findings(bearer, gate).contains { $0.contains(message) })
        #expect(!findings(gate, bearer).contains { $0.contains(message) })
    }
}
