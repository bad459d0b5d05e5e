// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeMiddleware

extension ValkeyServer: ReplicaStore {
    // A sorted set: each replica with the time when it stops to count, in milliseconds. Times too far
    // ahead are those of a clock that has gone back.
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

    // A count beyond it is no count: the share of each replica would be next to nothing.
    private static let mostReplicas = 10_000

    /// Says that a replica is there, and counts those that have said so.
    public func beat(
        _ replica: String, of group: String, for lifetime: Duration
    ) async throws -> Int {
        let reply = SharedReply(
            try await run(
                Self.beat, keys: [SharedKey.name(group, "replicas")],
                arguments: [Data(replica.utf8), Data(lifetime.expiryMilliseconds)],
                within: SharedReply.timeLimit))
        // A life of a millisecond may be over already.
        return max(try reply.integer(0, in: 0...Self.mostReplicas), 1)
    }
}
