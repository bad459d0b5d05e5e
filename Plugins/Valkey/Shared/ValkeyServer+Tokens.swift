// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeMiddleware

extension ValkeyServer: TokenStore {
    // The fencing number has 20 digits, so that numbers compare as texts: a double of Lua would not
    // hold all of them. The content follows. A value without a number gives way.
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

    /// The content under a key; nil if there is none.
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

    /// Replaces the content under a key, unless it was stored with a higher fencing number.
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
