// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

extension RateLimit {
    /// States the rules of the limit, and how long a request may wait for its turn.
    ///
    /// Waits for the store of a shared limit are among those for a turn: they last for its time limit
    /// at most.
    public func facts(for request: Request?) -> GateFacts? {
        let queue = lines.queue
        let plan = lines.plan
        var facts = GateFacts(
            "lets \(plan.rates.text("request "))" + (scope == .origin ? " to each origin" : "")
                + (plan.access == nil
                    ? "" : ", over all replicas" + (plan.key.map { ", as “\($0)”" } ?? ""))
                + (queue > 0 ? "; up to \(queue) others wait in line" : ", and refuses the others"))
        facts.effects = plan.rates.all.map { $0.effect } + [.answers(.refusal)]
        if queue > 0 {
            // The last one in line waits for its own permit too.
            let slowest = plan.rates.interval
            let (longest, overflows) = slowest.multipliedReportingOverflow(by: Int64(queue))
            facts.effects.append(
                .waits(atMost: overflows ? nil : .nanoseconds(longest), reason: "its turn"))
        }
        if let access = plan.access {
            facts.effects.append(access.use(.counts))
            if plan.key != nil {
                facts.sharedQuotas = Set(
                    plan.storedRules.map { "\(access.group)|\(scope)|\($0.identity)" })
            }
        }
        if let longest = lines.cooldowns?.longest, queue > 0 {
            facts.effects.append(.waits(atMost: longest, reason: "the end of a cool-down"))
        }
        return facts
    }
}

extension QuotaRates {
    /// All rules.
    var all: [Rate] { [first] + others }

    /// What the rules let pass, as the end of a sentence that begins with "lets".
    /// - Parameter what: What starts, with a blank; empty if that is clear.
    /// - Returns: The end of the sentence.
    func text(_ what: String) -> String {
        guard others.isEmpty else {
            return "calls start by \(all.count) rules: "
                + all.map { "one every \(Duration.nanoseconds($0.interval).text)" }
                .joined(separator: " and ")
        }
        return "one \(what)start every \(Duration.nanoseconds(first.interval).text)"
    }
}

extension QuotaRates.Rate {
    fileprivate var effect: GateEffect { .limitsRate(1, per: .nanoseconds(interval)) }
}
