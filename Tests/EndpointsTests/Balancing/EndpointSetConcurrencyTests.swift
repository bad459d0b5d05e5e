// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore

@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Choices of endpoints at once")
struct EndpointSetConcurrencyTests {
    @Test(
        "Calls at once get usable members, and nothing is left under way",
        arguments: [.leastRequests, .peakEWMA, .roundRobin, .weighted] as [BalancingPolicy])
    func atOnce(policy: BalancingPolicy) async {
        let members = (0..<5).map { EndpointMember(Chooser.endpoint($0)) }
        let set = EndpointSet(members, policy, isUsable: { $0.key != members[2].key })
        let request = Request(.get, "http://users.internal/")
        let counts = await withTaskGroup(of: [UInt64: Int].self) { group in
            for task in 0..<8 {
                group.addTask {
                    var counts: [UInt64: Int] = [:]
                    for number in 0..<1000 {
                        let now = MonotonicInstant(nanoseconds: Int64(number) * 1_000_000)
                        let bits = EndpointHash.mixed(UInt64(task * 1000 + number))
                        guard
                            let member = set.choose(for: request, at: now, bits: bits)?.member
                        else { continue }
                        member.begin()
                        counts[member.key, default: 0] += 1
                        member.record(
                            latency: .milliseconds(number % 7), failed: number % 50 == 0, at: now)
                        member.end()
                    }
                    return counts
                }
            }
            var all: [UInt64: Int] = [:]
            for await counts in group { all.merge(counts, uniquingKeysWith: +) }
            return all
        }
        #expect(counts.values.reduce(0, +) == 8000)
        #expect(counts[members[2].key] == nil)
        #expect(members.allSatisfy { $0.underWay == 0 })
    }
}
