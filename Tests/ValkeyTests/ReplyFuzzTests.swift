// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeValkey

/// Replies that were bent at random.
private struct ReplySource {
    var dice: Dice

    private static let seeds = [
        "+OK\r\n", "-ERR unknown command\r\n", ":1234567\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n",
        "$11\r\nhello\r\nworl\r\n", "*3\r\n:1\r\n$3\r\nabc\r\n*2\r\n+a\r\n-b\r\n",
        "*2\r\n*2\r\n*2\r\n*1\r\n:1\r\n:2\r\n:3\r\n$1\r\nx\r\n",
        "*3\r\n:0\r\n:5460\r\n*3\r\n$9\r\n127.0.0.1\r\n:7000\r\n$2\r\nid\r\n",
        "-MOVED 3999 127.0.0.1:6381\r\n",
        "*5\r\n$6\r\nmaster\r\n:3129659\r\n*1\r\n*3\r\n$9\r\n127.0.0.1\r\n$4\r\n9001\r\n$1\r\n0\r\n$1\r\na\r\n:1\r\n",
    ]
    private static let oddities = [
        "\r\n", "\r", "\n", "$", "*", "$-1\r\n", "*-1\r\n", "$999999999999\r\n", "*4294967296\r\n",
        "*2147483647\r\n", ":-9223372036854775809\r\n", "%1\r\n", "~2\r\n", ",inf\r\n", "#t\r\n",
        "_\r\n", "(12\r\n",
        ">1\r\n", "=7\r\ntxt:abc\r\n", "\0", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
        "$00\r\n", "$+1\r\n", ":\r\n", "$\r\n", "*\r\n",
    ]

    mutating func next() -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0...dice.roll(0...2) { bytes += dice.one(of: Self.seeds).utf8 }
        for _ in 0..<dice.roll(0...4) {
            let place = dice.roll(0...bytes.count)
            let end = min(bytes.count, place + dice.roll(0...6))
            switch dice.roll(0...5) {
            case 0: bytes.insert(UInt8(dice.roll(0...255)), at: place)
            case 1: if place < bytes.count { bytes[place] ^= 1 << UInt8(dice.roll(0...7)) }
            case 2: bytes.removeSubrange(place..<end)
            case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 4: bytes.insert(contentsOf: dice.one(of: Self.oddities).utf8, at: place)
            default: bytes.removeSubrange(place...)
            }
        }
        return bytes
    }
}

@Suite("Replies that were bent")
struct ReplyFuzzTests {
    // 200,000 if `TURNPIKE_LAW_RUNS` asks for as many runs as `scripts/check` does.
    private static let runs = Law.runs.count * 20

    @Test("They are read or refused, alike in one piece and in parts, within the limits")
    func fuzz() {
        var source = ReplySource(dice: Dice(seed: Law.seed(0)))
        var limits = ReplyLimits()
        limits.maxBytes = 4096
        limits.maxValues = 256
        var refused = 0
        var read = 0
        for run in 0..<Self.runs {
            let bytes = source.next()
            let whole = Self.outcome(bytes, limits, partSize: bytes.count)
            let parts = Self.outcome(bytes, limits, partSize: 1 + run % 7)
            // In parts, replies before a fault are passed on that one piece keeps back.
            #expect(whole.isRefused == parts.isRefused, "\(bytes)")
            if !whole.isRefused { #expect(whole.values == parts.values, "\(bytes)") }
            refused += whole.isRefused ? 1 : 0
            read += whole.values.count
        }
        #expect(refused > Self.runs / 10)
        #expect(read > Self.runs / 2)
    }

    private static func outcome(
        _ bytes: [UInt8], _ limits: ReplyLimits, partSize: Int
    ) -> (values: [ValkeyValue], isRefused: Bool) {
        var values: [ValkeyValue] = []
        do {
            let reader = ReplyReader(limits)
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = rest.prefix(partSize)
                rest = rest.dropFirst(partSize)
                try reader.read(part) { values.append($0) }
            }
            return (values, false)
        } catch {
            return (values, true)
        }
    }
}
