// SPDX-License-Identifier: Apache-2.0

import TurnpikeValkey

/// The scripts that a server runs for a ``ValkeyStore``.
///
/// The server runs each script as one step. Each cache key is a hash. Each variant is a field of
/// the hash, with a name that begins with `v` and an `EntryRecord` as value. The hash may have two
/// more fields. With several variants, `order` lists the fields of the variants, the oldest first.
/// `removed` contains the time of the last removal in microseconds of the server's clock, the
/// replica of this removal, and the time of the last removal by another replica. If a response was
/// requested before another replica's removal, the response is not stored. The gate handles the
/// removals of its own process, because the response itself may have caused the removal.
enum StoreScripts {
    // The time in milliseconds for which the server stores a removal. A longer exchange may store
    // its response in spite of the removal.
    static let removalTime = 60_000

    private static let now = """
        local time = redis.call('TIME')
        local now = time[1] * 1000000 + time[2]
        """

    private static let removal = """
        local function removal()
          if redis.call('TYPE', KEYS[1]).ok == 'string' then return 0, '-', 0 end
          local text = redis.call('HGET', KEYS[1], 'removed') or ''
          local at, by, others = string.match(text, '^(%d+) (%S+) (%d+)$')
          return tonumber(at or 0), by, tonumber(others or 0)
        end
        """

    // PTTL is negative for a key that does not expire.
    private static let keep = """
        local function keep(ms)
          if redis.call('PTTL', KEYS[1]) < tonumber(ms) then redis.call('PEXPIRE', KEYS[1], ms) end
        end
        """

    /// Stores an entry, or returns 0 if the key was removed after the request was sent.
    ///
    /// Arguments: field, record, time of use, microseconds since the request was sent, limit of
    /// variants, limit of bytes of all variants, replica.
    static let store = ValkeyScript(
        """
        \(now)
        \(keep)
        \(removal)
        local removed, remover, others = removal()
        if (remover == ARGV[7] and others or removed) > now - ARGV[4] then return 0 end
        redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
        if removed > 0 and now - removed > \(removalTime)000 then
          redis.call('HDEL', KEYS[1], 'removed')
        end
        keep(ARGV[3])
        local names, order = {}, redis.call('HGET', KEYS[1], 'order') or ''
        local known = {[ARGV[1]] = true}
        for name in string.gmatch(order, '[^ ]+') do
          if not known[name] then names[#names + 1] = name end
          known[name] = true
        end
        for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
          if string.sub(name, 1, 1) == 'v' and not known[name] then
            table.insert(names, 1, name)
          end
        end
        names[#names + 1] = ARGV[1]
        if #names == 1 then return 1 end
        local first, bytes = #names + 1, 0
        for index = #names, 1, -1 do
          bytes = bytes + redis.call('HSTRLEN', KEYS[1], names[index])
          if #names - index >= tonumber(ARGV[5]) or bytes > tonumber(ARGV[6]) then break end
          first = index
        end
        for index = 1, first - 1 do redis.call('HDEL', KEYS[1], names[index]) end
        redis.call('HSET', KEYS[1], 'order', table.concat(names, ' ', first))
        return 1
        """)

    /// Replaces the tail of an entry that has not changed since the read.
    ///
    /// Arguments: field, new field, tail, new tail, time of use.
    static let update = ValkeyScript(
        """
        \(keep)
        local old = redis.call('HGET', KEYS[1], ARGV[1])
        if not old or string.sub(old, -#ARGV[3]) ~= ARGV[3] then return 0 end
        if ARGV[1] ~= ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
        redis.call('HSET', KEYS[1], ARGV[2], string.sub(old, 1, #old - #ARGV[3]) .. ARGV[4])
        keep(ARGV[5])
        return 1
        """)

    /// Removes a key, with effect from a number of microseconds ago.
    ///
    /// Arguments: the microseconds, replica. A key of another type is also removed.
    ///
    /// The script first deletes the entries, because a full server needs memory for the field
    /// `removed`.
    static let remove = ValkeyScript(
        """
        \(now)
        \(removal)
        local removed, remover, others = removal()
        if remover ~= ARGV[2] then others = removed end
        redis.call('DEL', KEYS[1])
        redis.call(
          'HSET', KEYS[1], 'removed', string.format(
            '%.0f %s %.0f', math.max(now - ARGV[1], removed), ARGV[2], others))
        redis.call('PEXPIRE', KEYS[1], \(removalTime))
        return 1
        """)

    /// Returns the fields and the tails of a key's entries, without the contents.
    static let tails = ValkeyScript(
        """
        if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return {} end
        local all, found = redis.call('HGETALL', KEYS[1]), {}
        for index = 1, #all, 2 do
          local value = all[index + 1]
          if string.sub(all[index], 1, 1) == 'v' and #value >= 32 then
            local a, b, c, d = string.byte(value, #value - 27, #value - 24)
            local length = a + b * 256 + c * 65536 + d * 16777216 + 32
            if length <= #value then
              found[#found + 1] = all[index]
              found[#found + 1] = string.sub(value, -length)
            end
          end
        end
        return found
        """)

    /// Removes the entries that have not changed since the read, and returns the number of removed
    /// entries.
    ///
    /// Arguments: alternating fields and tails.
    static let drop = ValkeyScript(
        """
        \(now)
        \(keep)
        local count = 0
        for index = 1, #ARGV, 2 do
          local old = redis.call('HGET', KEYS[1], ARGV[index])
          if old and string.sub(old, -#ARGV[index + 1]) == ARGV[index + 1] then
            redis.call('HDEL', KEYS[1], ARGV[index])
            count = count + 1
          end
        end
        if count == 0 then return 0 end
        local rest = 0
        for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
          if string.sub(name, 1, 1) == 'v' then rest = rest + 1 end
        end
        if rest == 0 then redis.call('DEL', KEYS[1]) end
        redis.call('HSET', KEYS[1], 'removed', string.format('%.0f - %.0f', now, now))
        keep(\(removalTime))
        return count
        """)

    /// Takes a claim, which is the right to send the request for a missing response.
    ///
    /// Arguments: token, milliseconds. Returns -1 if the claim was granted, and -2 if no claim is
    /// needed. Any other number is the time in milliseconds for which another caller still holds
    /// the claim.
    static let claim = ValkeyScript(
        """
        local holder = redis.call('GET', KEYS[1])
        if holder == '-' then return -2 end
        if holder then return math.max(redis.call('PTTL', KEYS[1]), 1) end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return -1
        """)

    /// Ends a claim.
    ///
    /// Arguments: the token, and the milliseconds for which no caller needs a claim (0 for none).
    static let release = ValkeyScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        if ARGV[2] == '0' then
          redis.call('DEL', KEYS[1])
        else
          redis.call('SET', KEYS[1], '-', 'PX', ARGV[2])
        end
        return 1
        """)
}
