// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeCore
import TurnpikeTraffic

// State that replicas share.
extension LintCase {
    static let sharing: [LintCase] = [
        LintCase(
            "store-limit-near-timeout",
            [.attemptTimeout(.milliseconds(100)), store(.counts, atMost: .milliseconds(30))],
            [.attemptTimeout(.seconds(1)), store(.counts, atMost: .milliseconds(30))],
            "takes 30 ms of the 100 ms of AttemptTimeout"),
        LintCase(
            "store-limit-near-timeout",
            [
                .deadline(.milliseconds(150)), store(.counts, atMost: .milliseconds(20)),
                store(.secrets, atMost: .milliseconds(20)),
            ],
            [.deadline(.milliseconds(150)), store(.counts, atMost: .milliseconds(20))],
            "takes 40 ms of the 150 ms of Deadline"),
        LintCase(
            "shared-secrets-readable", [store(.secrets, isHidden: false)],
            [store(.secrets, isHidden: true), store(.counts, isHidden: false), store(.secrets)],
            "Store keeps secrets in a store that it reaches without encryption"),
        LintCase(
            "local-limit-beside-shared-state", [store(.secrets), .rateLimit(perSecond: 10)],
            [store(.counts, .limitsRate(10, per: .seconds(1))), .rateLimit(perSecond: 10)],
            "each replica has the limit of RateLimit for itself"),
        LintCase(
            "cache-without-partition", [stores(withoutPartition: true)],
            [stores(withoutPartition: false)],
            "Store stores nothing: the name of its partition is empty"),
        LintCase(
            "quota-drawn-twice", [quota("default|search"), .retry(), quota("default|search")],
            [quota("default|search"), .retry(), quota("default|other")],
            "each request takes permits of one quota twice: in Limit and in Limit"),
    ]

    private static func stores(withoutPartition lacks: Bool) -> Stated {
        var gate = Stated("Store", .answers(.stored), .storesResponses)
        gate.stated?.lacksPartition = lacks
        return gate
    }

    private static func quota(_ name: String) -> Stated {
        var gate = Stated("Limit", .limitsRate(10, per: .seconds(1)))
        gate.stated?.sharedQuotas = [name]
        return gate
    }

    private static func store(
        _ content: GateSharedContent, _ effects: GateEffect..., isHidden: Bool? = nil,
        atMost wait: Duration = .milliseconds(20)
    ) -> Stated {
        var gate = Stated("Store", .sharesState(content, isHidden: isHidden, atMost: wait))
        gate.stated?.effects += effects
        return gate
    }
}
