// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeSharedState

/// Stores the state that the replicas of a service share.
///
/// All times are by the server's clock. Each operation is one script or command. The names of a
/// key's state begin with `turnpike:{<key>}:`. One node of a cluster therefore has the whole state.
/// An unreadable value counts as missing, and is replaced. A key of another type is an error with
/// the key's name. All keys expire, except tokens without a lifetime. The user of the URL needs the
/// keys `turnpike:*` and the commands `EVAL`, `EVALSHA`, `GET`, `GETRANGE`, `SET`, `DEL`, `PTTL`,
/// `PEXPIRE`, `TIME`, `ZADD`, `ZCARD` and `ZREMRANGEBYSCORE`.
extension ValkeyServer: SharedStore {}

extension ValkeyServer {
    // The key expires at the end of the cool-down. The content of the key has no meaning.
    private static let coolDown = ValkeyScript(
        """
        if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then
          return redis.pcall('SET', KEYS[1], '1', 'PX', ARGV[1])
        end
        return 0
        """)

    /// Begins or prolongs a cool-down.
    public func coolDown(for duration: Duration, _ key: String) async throws {
        if duration <= .zero { return }
        _ = try await run(
            Self.coolDown, keys: [SharedKey.name(key, "cooldown")],
            arguments: [Data(duration.expiryMilliseconds)], within: SharedReply.timeLimit)
    }

    /// Returns the remaining time of a cool-down, or nil without a cool-down.
    public func cooldown(of key: String) async throws -> Duration? {
        let name = SharedKey.name(key, "cooldown")
        let reply = SharedReply(
            try await send(ValkeyCommand("PTTL", name, key: name), within: SharedReply.timeLimit))
        // A negative number means that there is no key, or a key without an end.
        let left = try reply.integer(0, in: Int.min...Int.max)
        return left > 0 ? .milliseconds(left) : nil
    }
}

extension ValkeyServer {
    // The key is a sorted set. Each member is a replica, and the score is the time in milliseconds
    // until which the replica counts. If a time is too far ahead, the server's clock has gone back.
    private static let beat = ValkeyScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local life = tonumber(ARGV[2])
        local reply = redis.pcall('ZADD', KEYS[1], string.format('%.0f', now + life), ARGV[1])
        if type(reply) == 'table' and reply.err then
          if string.find(reply.err, 'WRONGTYPE', 1, true) then
            return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is no list of replicas')
          end
          return reply
        end
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
        local furthest = string.format('(%.0f', now + math.max(life, 600000))
        redis.call('ZREMRANGEBYSCORE', KEYS[1], furthest, '+inf')
        if redis.call('PTTL', KEYS[1]) < life then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return redis.call('ZCARD', KEYS[1])
        """)

    // A higher count is not plausible, because the share of each replica would be almost zero.
    private static let mostReplicas = 10_000

    /// Reports that a replica is running, and counts the replicas that have reported.
    public func beat(
        _ replica: String, of group: String, for lifetime: Duration
    ) async throws -> Int {
        let reply = SharedReply(
            try await run(
                Self.beat, keys: [SharedKey.name(group, "replicas")],
                arguments: [Data(replica.utf8), Data(lifetime.expiryMilliseconds)],
                within: SharedReply.timeLimit))
        // The count is at least 1, because a lifetime of a millisecond may end before the count.
        return max(try reply.integer(0, in: 0...Self.mostReplicas), 1)
    }
}

extension ValkeyServer {
    // The first key is the lock, with the fencing number as value, and expires with the lock. The
    // second key contains the last fencing number. A fencing number is at least the server's time
    // in milliseconds. The numbers therefore grow even after a loss of the server's data, and the
    // second key may expire too, after 30 days.
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

    /// Ends a lock that has not already ended.
    public func unlock(_ lock: SharedLock) async throws {
        _ = try await run(
            Self.endLock, keys: [SharedKey.name(lock.key, "lock")],
            arguments: [Data(String(lock.fence).utf8)], within: SharedReply.timeLimit)
    }
}

extension ValkeyServer {
    // The fencing number has 20 digits and is compared as text, because a Lua double cannot
    // represent it exactly. The content follows the number. A value without a number is replaced.
    private static let storeToken = ValkeyScript(
        """
        local present = redis.pcall('GETRANGE', KEYS[1], 0, 19)
        if type(present) == 'table' and present.err then
          if string.find(present.err, 'WRONGTYPE', 1, true) then
            return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is no token')
          end
          return present
        end
        if #present == 20 and not string.find(present, '%D') and present > ARGV[1] then return 0 end
        local reply
        if ARGV[3] == '' then
          reply = redis.pcall('SET', KEYS[1], ARGV[1] .. ARGV[2])
        else
          reply = redis.pcall('SET', KEYS[1], ARGV[1] .. ARGV[2], 'PX', ARGV[3])
        end
        if type(reply) == 'table' and reply.err then return reply end
        return 1
        """)
    private static let fenceDigits = 20

    /// Returns the content under a key, or nil without content.
    public func token(_ key: String) async throws -> StoredToken? {
        let name = SharedKey.name(key, "token")
        let value = try await send(
            ValkeyCommand("GET", name, key: name), within: SharedReply.timeLimit)
        switch value {
        case .null: return nil
        case .bytes(let data):
            let digits = data.prefix(Self.fenceDigits)
            guard digits.count == Self.fenceDigits,
                let fence = UInt64(String(decoding: digits, as: UTF8.self))
            else { return nil }
            return StoredToken(Data(data.dropFirst(Self.fenceDigits)), fence: fence)
        default: throw SharedReply.fault
        }
    }

    /// Replaces the content under a key, unless the fencing number of the content is higher.
    public func store(
        _ token: StoredToken, _ key: String, for lifetime: Duration?
    ) async throws -> Bool {
        let digits = String(token.fence)
        let fence = String(repeating: "0", count: Self.fenceDigits - digits.utf8.count) + digits
        let expiry = lifetime.map { Data($0.expiryMilliseconds) } ?? Data()
        let reply = SharedReply(
            try await run(
                Self.storeToken, keys: [SharedKey.name(key, "token")],
                arguments: [Data(fence.utf8), token.content, expiry],
                within: SharedReply.timeLimit))
        return try reply.integer(0, in: 0...1) == 1
    }
}
