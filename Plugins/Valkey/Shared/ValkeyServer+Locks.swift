// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeMiddleware

extension ValkeyServer: LockStore {
    // The first key is that of the lock: it holds the number and ends with the lock. The second one
    // holds the last number. A number is at least the server's time in milliseconds, so that numbers
    // grow even if a server has lost its data; therefore the second key may end too, after 30 days.
    private static let takeLock = ValkeyScript(
        """
        local left = redis.call('PTTL', KEYS[1])
        if left >= 0 then return {1, math.max(left, 1)} end
        local time = redis.call('TIME')
        local last = redis.pcall('GET', KEYS[2])
        if type(last) == 'table' and last.err then
          if string.find(last.err, 'WRONGTYPE', 1, true) then
            return redis.error_reply('WRONGTYPE ' .. KEYS[2] .. ' is no number of a lock')
          end
          return last
        end
        last = last and string.match(last, '^%d+$') and tonumber(last) or 0
        if last >= 2 ^ 52 then last = 0 end
        local fence = math.max(last + 1, time[1] * 1000 + math.floor(time[2] / 1000))
        fence = string.format('%.0f', fence)
        local reply = redis.pcall('SET', KEYS[2], fence, 'PX', '2592000000')
        if type(reply) == 'table' and reply.err then return reply end
        reply = redis.pcall('SET', KEYS[1], fence, 'PX', ARGV[1])
        if type(reply) == 'table' and reply.err then return reply end
        return {0, fence}
        """)

    private static let endLock = ValkeyScript(
        """
        local fence = redis.pcall('GET', KEYS[1])
        if type(fence) == 'table' and fence.err then return fence end
        if fence == ARGV[1] then return redis.pcall('DEL', KEYS[1]) end
        return 0
        """)

    /// Takes a lock.
    public func lock(_ key: String, for duration: Duration) async throws -> LockAnswer {
        let reply = SharedReply(
            try await run(
                Self.takeLock, keys: [SharedKey.name(key, "lock"), SharedKey.name(key, "fence")],
                arguments: [Data(duration.expiryMilliseconds)], within: SharedReply.timeLimit))
        let number = try reply.integer(1)
        switch try reply.integer(0) {
        case 0: return .taken(SharedLock(key: key, fence: UInt64(number)))
        case 1: return .held(atMost: .milliseconds(number))
        default: throw SharedReply.fault
        }
    }

    /// Ends a lock, if it has not ended.
    public func unlock(_ lock: SharedLock) async throws {
        _ = try await run(
            Self.endLock, keys: [SharedKey.name(lock.key, "lock")],
            arguments: [Data(String(lock.fence).utf8)], within: SharedReply.timeLimit)
    }
}
