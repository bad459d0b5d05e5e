// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSharedState
import TurnpikeSupport
import TurnpikeTraffic

extension SharedStoreConformance {
    static var quotas: [Check] {
        [
            check("A new quota gives its burst, then the time until the next permit") { site in
                let rules = [hourly(5)]
                for _ in 0..<5 { try await site.take(1, of: rules) }
                try await site.takeNothing(of: rules, firstAfter: hour)
            },
            check("All available permits are taken, up to the maximum") { site in
                let rules = [hourly(5)]
                try await site.take(3, of: rules, 1...3)
                try await site.take(2, of: rules, 1...10)
                try await site.takeNothing(of: rules, firstAfter: hour)
            },
            check("The minimum is taken as soon as its first permit is due") { site in
                let rules = [hourly(2)]
                try await site.take(6, of: rules, 6...6)
                // Six permits were taken, two of these permits at once. The seventh is due after
                // five intervals.
                try await site.takeNothing(of: rules, firstAfter: hour * 5)
            },
            check("Permits that are due within `reach` are reserved, each with its time") {
                site in
                let rules = [hourly(2)]
                let reach = hour * 7 / 2
                let first = try await site.take(5, of: rules, 1...10, reach: reach)
                try requireOffsets(first, hours: -1)
                try await site.takeNothing(of: rules, reach: reach, firstAfter: hour * 4)
                let later = try await site.take(1, of: rules, reach: hour * 9 / 2)
                try requireOffsets(later, hours: 4)
            },
            check("A request with a small `reach` takes no permit that others reserved") { site in
                let rules = [hourly(2)]
                try await site.take(102, of: rules, 1...1000, reach: hour * 201 / 2 - hour / 4)
                try await site.takeNothing(of: rules, firstAfter: hour * 101)
                try await site.takeNothing(of: rules, firstAfter: hour * 101)
            },
            check("A request waits for the strictest rule") { site in
                let rules = [hourly(5), QuotaRule(1, per: hour * 10, burst: 2)]
                let grant = try await site.take(2, of: rules, 1...10)
                try requireOffsets(grant, hours: -4, -10)
                try await site.takeNothing(of: rules, firstAfter: hour * 10)
            },
            check("If one rule refuses, no permits of the other rules are taken") { site in
                let rules = [hourly(5), hourly(2)]
                try await site.take(2, of: rules, 1...10)
                for _ in 0..<3 { try await site.takeNothing(of: rules, firstAfter: hour) }
                try await site.first.giveBack(1, to: site.key, rules: rules)
                let grant = try await site.take(1, of: rules)
                try requireOffsets(grant, hours: -3, 0)
            },
            check("A rule that replaces another rule starts full, and leaves that rule") { site in
                try await site.take(2, of: [hourly(2)], 1...10)
                for rule in [
                    QuotaRule(2, per: hour, burst: 2), QuotaRule(1, per: hour * 2, burst: 2),
                    hourly(3),
                ] {
                    try await site.take(Int(rule.burst), of: [rule], 1...10)
                }
                try await site.takeNothing(of: [hourly(2)], firstAfter: hour)
            },
            check("The state of a rule does not depend on its place in the list") { site in
                try await site.take(1, of: [hourly(2), hourly(5)])
                try await site.take(1, of: [hourly(5), hourly(2)])
                try await site.takeNothing(of: [hourly(2)], firstAfter: hour)
                try await site.first.giveBack(1, to: site.key, rules: [hourly(5), hourly(2)])
                try await site.take(1, of: [hourly(2)])
                try await site.take(4, of: [hourly(9), hourly(5)], 1...10)
                try await site.first.lower(
                    to: 0, of: site.key, rule: 1, rules: [hourly(5), hourly(7)])
                try await site.takeNothing(of: [hourly(7)], firstAfter: hour)
            },
        ]
    }

    static var times: [Check] {
        [
            check("A permit comes after the reported time") { site in
                let rules = [QuotaRule(10, per: .seconds(1))]
                try await site.take(1, of: rules)
                guard case .exhausted(let time) = try await site.take(rules) else { return }
                try require(
                    time > .zero && time <= .milliseconds(102),
                    "the next permit comes in \(time.text)")
                try await pause(time + .milliseconds(5))
                // The clocks of client and server may run at different speeds.
                try await wait(for: "The next permit") {
                    if case .granted = try await site.take(rules) { true } else { false }
                }
            },
            check("Intervals below a microsecond are exact") { site in
                for perSecond in [3e6, 3e9] {
                    let rules = [QuotaRule(perSecond, per: .seconds(1), burst: perSecond)]
                    let key = site.key + "-\(perSecond)"
                    let count = Int(perSecond) * 1000
                    try await site.take(count, of: rules, count...count, key: key)
                    try await site.takeNothing(of: rules, firstAfter: .seconds(999), key: key)
                }
            },
            check("No more permits are given than the burst and the rate allow") { site in
                let (burst, rate) = (200.0, 20_000.0)
                let rules = [QuotaRule(rate, per: .seconds(1), burst: burst)]
                let clock = SystemTimeSource()
                let begin = clock.now
                var taken = 0
                while begin.duration(to: clock.now) < .milliseconds(300) {
                    if case .granted(let grant) = try await site.take(rules, 1...50) {
                        taken += grant.permits
                    }
                }
                let elapsed = begin.duration(to: clock.now).inSeconds
                let most = burst + rate * elapsed * 1.01 + 1
                try require(
                    Double(taken) <= most, "took \(taken) permits in \(elapsed) s, not \(most)")
            },
        ]
    }

    static var atOnce: [Check] {
        [
            check("A hundred requests at once get exactly the burst") { site in
                let answers = try await takeAtOnce(site, [hourly(50)])
                try require(answers.count == 50, "\(answers.count) of 50 permits were given")
                let offsets = Set(answers.map { ($0 / hour).rounded() })
                try require(offsets.count == 50, "two calls got the same permit")
            },
            check("A hundred requests at once for two rules get the smaller burst") { site in
                let rules = [hourly(50), hourly(30)]
                let answers = try await takeAtOnce(site, rules)
                try require(answers.count == 30, "\(answers.count) of 30 permits were given")
                try await site.first.giveBack(1, to: site.key, rules: rules)
                let grant = try await site.take(1, of: rules)
                try requireOffsets(grant, hours: -20, 0)
            },
            check("Cancelled operations end, and leave the store usable") { site in
                let tasks = (0..<50).map { index in
                    let task = Task {
                        _ = try? await site.take([hourly(1000)])
                        _ = try? await site.first.lock(site.key + "\(index)", for: .seconds(1))
                    }
                    if index % 2 == 0 { task.cancel() }
                    return task
                }
                for task in tasks { task.cancel() }
                for task in tasks { await task.value }
                try await site.take(5, of: [hourly(5)], 1...10, key: site.key + "-new")
            },
        ]
    }

    private static func takeAtOnce(_ site: Site, _ rules: [QuotaRule]) async throws -> [Duration] {
        try await withThrowingTaskGroup { group in
            for index in 0..<100 {
                let store = index % 2 == 0 ? site.first : site.second
                group.addTask {
                    let request = QuotaRequest(key: site.key, rules: rules)
                    guard case .granted(let grant) = try await store.take(request) else {
                        return Duration?.none
                    }
                    return grant.offsets.first
                }
            }
            return try await group.reduce(into: []) { if let offset = $1 { $0.append(offset) } }
        }
    }

    static func requireOffsets(_ grant: QuotaGrant, hours expected: Int...) throws {
        for (index, pair) in zip(grant.offsets, expected).enumerated() {
            try requireTime(pair.0, hour * pair.1, "the offset of rule \(index)")
        }
    }
}
