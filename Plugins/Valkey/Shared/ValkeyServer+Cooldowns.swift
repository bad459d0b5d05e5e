// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeMiddleware

extension ValkeyServer: CooldownStore {
    // The key ends with the cool-down; its content does not matter.
    private static let coolDown = ValkeyScript(
        """
        if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then
          return redis.pcall('SET', KEYS[1], '1', 'PX', ARGV[1])
        end
        return 0
        """)

    /// Begins a cool-down, or prolongs it.
    public func coolDown(for duration: Duration, _ key: String) async throws {
        if duration <= .zero { return }
        _ = try await run(
            Self.coolDown, keys: [SharedKey.name(key, "cooldown")],
            arguments: [Data(duration.expiryMilliseconds)], within: SharedReply.timeLimit)
    }

    /// The time that is left of a cool-down; nil if there is none.
    public func cooldown(of key: String) async throws -> Duration? {
        let name = SharedKey.name(key, "cooldown")
        let reply = SharedReply(
            try await send(ValkeyCommand("PTTL", name, key: name), within: SharedReply.timeLimit))
        // A negative number: there is no such key, or it has no end and is none of a cool-down.
        let left = try reply.integer(0, in: Int.min...Int.max)
        return left > 0 ? .milliseconds(left) : nil
    }
}
