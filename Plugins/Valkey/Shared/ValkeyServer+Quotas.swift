// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

extension ValkeyServer: QuotaStore {
    // Beyond that, not each whole number is a double.
    private static let mostPermits = 1 << 53

    /// Takes permits, or none, by the server's clock.
    public func take(_ request: QuotaRequest) async throws -> QuotaAnswer {
        let keys =
            [SharedKey.name(request.key, "cooldown")]
            + request.rules.map { SharedKey.name(request.key, $0) }
        let minimum = min(request.minimum, Self.mostPermits)
        let maximum = min(request.maximum, Self.mostPermits)
        var arguments = [Data(minimum), Data(maximum), Data(request.reach.microseconds)]
        for rule in request.rules { arguments += [Data(rule.interval), Data(rule.burst)] }
        let reply = SharedReply(
            try await run(
                QuotaScripts.take, keys: keys, arguments: arguments, within: SharedReply.timeLimit))
        switch try reply.integer(0) {
        case 0:
            guard reply.count == request.rules.count + 2 else { throw SharedReply.fault }
            return .granted(
                QuotaGrant(
                    permits: try reply.integer(1, in: minimum...maximum),
                    offsets: try request.rules.indices.map { try reply.time($0 + 2) }))
        case 1: return .exhausted(retryAfter: max(try reply.time(1), .zero))
        case 2: return .coolingDown(.milliseconds(try reply.integer(1)))
        default: throw SharedReply.fault
        }
    }

    /// Gives permits back, or charges more of them if the number is negative.
    public func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws {
        if permits == 0 || rules.isEmpty { return }
        var arguments = [Data(Double(permits))]
        for rule in rules {
            let longest = 2 * rule.burst * rule.interval + rule.period.microseconds
            arguments += [Data(rule.interval), Data(longest)]
        }
        _ = try await run(
            QuotaScripts.giveBack, keys: rules.map { SharedKey.name(key, $0) },
            arguments: arguments, within: SharedReply.timeLimit)
    }

    /// Lowers the permits that are left under one rule.
    public func lower(
        to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]
    ) async throws {
        guard rules.indices.contains(rule), remaining < rules[rule].burst else { return }
        let backlog = (rules[rule].burst - max(remaining, 0)) * rules[rule].interval
        _ = try await run(
            QuotaScripts.lower, keys: [SharedKey.name(key, rules[rule])],
            arguments: [Data(backlog)], within: SharedReply.timeLimit)
    }
}

extension QuotaRule {
    /// The time between two permits in microseconds, as scripts count.
    fileprivate var interval: Double { nanosecondsPerPermit / 1000 }
}
