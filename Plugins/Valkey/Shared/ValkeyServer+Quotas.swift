// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
public import TurnpikeSharedState
import TurnpikeSupport
public import TurnpikeTraffic

extension ValkeyServer {
    // Above this number, a double cannot represent every whole number.
    private static let mostPermits = 1 << 53

    /// Takes the requested permits or no permits, by the server's clock.
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

    /// Returns permits, or charges more permits if the number is negative.
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

    /// Lowers the remaining permits of one rule.
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
    fileprivate var interval: Double { nanosecondsPerPermit / 1000 }
}

/// The scripts of shared quotas (``/TurnpikeSharedState/SharedStore``).
///
/// The state of a rule is the text `<backlog> <time>` under its own key. The backlog is how far the
/// theoretical arrival time (TAT) was ahead when the rule was last changed. The time is that of the
/// change. Backlog and time are in microseconds. For intervals far below a microsecond, a backlog
/// keeps the precision of a double. A point in time would have less precision. A rule without a
/// key, or with any other text, has all permits.
enum QuotaScripts {
    // Times count from 2026-01-01. If the server's clock has gone back, the script treats the time
    // as unchanged, and TAT goes back too. Without writing the new time, the backlog would stay
    // until the clock has reached the old time.
    private static let state = """
        local time = redis.call('TIME')
        local now = (time[1] - 1767225600) * 1000000 + time[2]

        local function failed(reply) return type(reply) == 'table' and reply.err end

        local function keep(key, backlog)
          if backlog <= 0 then return redis.pcall('DEL', key) end
          -- A key may not expire later than a server can count.
          local life = math.min(math.ceil(backlog / 1000) + 1, 1e14)
          return redis.pcall('SET', key, string.format('%.17g %.0f', backlog, now),
            'PX', string.format('%.0f', life))
        end

        local function read(key)
          local value = redis.pcall('GET', key)
          if not value then return 0 end
          if failed(value) then
            if string.find(value.err, 'WRONGTYPE', 1, true) then
              value = redis.error_reply('WRONGTYPE ' .. key .. ' is no quota')
            end
            return 0, value
          end
          local backlog, at = string.match(value, '^(%d[%d.e+-]*) (-?%d+)$')
          backlog, at = tonumber(backlog), tonumber(at)
          if not backlog or not at then return 0 end
          if at <= now then return math.max(backlog - (now - at), 0) end
          local reply = keep(key, backlog)
          return backlog, failed(reply) and reply or nil
        end

        """

    /// Takes the requested permits of a quota, or no permits.
    ///
    /// The first key is the key of the cool-down, and the other keys are the keys of the rules. The
    /// arguments are the minimum, the maximum, the reach, and the interval and burst of each rule.
    /// The reply is one of three lists: 0, the permits and the offset of each rule; 1 and the time
    /// until the first permit; 2 and the milliseconds of the cool-down. A permit that is due within
    /// a nanosecond counts as due, because additions are inexact.
    static let take = ValkeyScript(
        state + """
            local left = redis.call('PTTL', KEYS[1])
            if left > 0 then return {2, left} end
            local minimum, permits = tonumber(ARGV[1]), tonumber(ARGV[2])
            local reach = ARGV[3] + 0.001
            local backlogs, offsets, first = {}, {}, 0
            for n = 2, #KEYS do
              local fault
              backlogs[n], fault = read(KEYS[n])
              if fault then return fault end
              offsets[n] = backlogs[n] - (ARGV[2 * n + 1] - 1) * ARGV[2 * n]
              if n == 2 or offsets[n] > first then first = offsets[n] end
            end
            if first > reach then return {1, string.format('%.17g', first)} end
            for n = 2, #KEYS do
              permits = math.min(permits, math.floor((reach - offsets[n]) / ARGV[2 * n]) + 1)
            end
            permits = math.max(permits, minimum)
            local answer = {0, string.format('%.0f', permits)}
            for n = 2, #KEYS do
              local reply = keep(KEYS[n], backlogs[n] + permits * ARGV[2 * n])
              if failed(reply) then return reply end
              answer[n + 1] = string.format('%.17g', offsets[n])
            end
            return answer
            """)

    /// Returns permits, or charges more permits.
    ///
    /// Each rule has a key. The arguments are the permits, and for each rule the interval and the
    /// longest time ahead to which a charge may move TAT.
    static let giveBack = ValkeyScript(
        state + """
            local permits = tonumber(ARGV[1])
            for n = 1, #KEYS do
              local backlog, fault = read(KEYS[n])
              if fault then return fault end
              local changed = backlog - permits * ARGV[2 * n]
              if permits < 0 then
                changed = math.max(backlog, math.min(changed, tonumber(ARGV[2 * n + 1])))
              end
              if changed ~= backlog then
                local reply = keep(KEYS[n], changed)
                if failed(reply) then return reply end
              end
            end
            return 0
            """)

    /// Lowers the remaining permits of the rule of the key.
    ///
    /// The argument is the minimum backlog.
    static let lower = ValkeyScript(
        state + """
            local backlog, fault = read(KEYS[1])
            if fault then return fault end
            if backlog < tonumber(ARGV[1]) then
              local reply = keep(KEYS[1], tonumber(ARGV[1]))
              if failed(reply) then return reply end
            end
            return 0
            """)
}
