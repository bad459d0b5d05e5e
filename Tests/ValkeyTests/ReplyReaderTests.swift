// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeValkey

/// Reads text as replies, in parts of a size.
func replies(
    in text: String, limits: ReplyLimits = ReplyLimits(), partSize: Int = .max
) throws -> [ValkeyValue] {
    let reader = ReplyReader(limits)
    var values: [ValkeyValue] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let part = rest.prefix(partSize)
        rest = rest.dropFirst(part.count)
        try reader.read(part) { values.append($0) }
    }
    return values
}

@Suite("Reading replies")
struct ReplyReaderTests {
    private static let all =
        "+OK\r\n-ERR no\r\n:-9223372036854775808\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
        + "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n*0\r\n-E\r\n+PONG\r\n"

    @Test(
        "Each kind of value is read, in parts of any size",
        arguments: [1, 2, 3, 7, 1000])
    func kinds(partSize: Int) throws {
        let expected: [ValkeyValue] = [
            .status("OK"), .error("ERR no"), .integer(.min), .bytes(Data("a\r\nbc".utf8)),
            .bytes(Data()), .null, .null, .array([]),
            .array([.integer(1), .array([.bytes(Data("x".utf8)), .array([])]), .error("E")]),
            .status("PONG"),
        ]
        #expect(try replies(in: Self.all, partSize: partSize) == expected)
    }

    @Test(
        "What breaks the protocol or a limit ends the reading",
        arguments: [
            ("HTTP/1.1 200 OK\r\n\r\n", "unknown type"), ("%1\r\n+a\r\n+b\r\n", "unknown type"),
            (",1.5\r\n", "unknown type"), ("_\r\n", "unknown type"),
            (">2\r\n+a\r\n+b\r\n", "unknown type"),
            (":1x\r\n", "integer"), ("$x\r\n", "length"), ("$-2\r\n", "length"),
            ("*-2\r\n", "length"), ("*\r\n", "length"), ("*99999999999\r\n", "too many values"),
            ("*101\r\n", "too many values"), ("$3\r\nabcd\r\n", "longer"),
            ("$1001\r\n", "too many bytes"),
            ("$99999999999999999999999\r\n", "too many bytes"),
            (":1" + String(repeating: "0", count: 40), "too long"),
            (
                "*3\r\n$500\r\n\(String(repeating: "a", count: 500))\r\n$501\r\n\(String(repeating: "a", count: 501))\r\n+a\r\n",
                "too many bytes"
            ),
            (String(repeating: "*1\r\n", count: 8) + "+a\r\n", "levels"),
            (String(repeating: "*1\r\n", count: 5000), "levels"),
            (
                "*2\r\n*60\r\n" + String(repeating: ":1\r\n", count: 60) + "*60\r\n"
                    + String(repeating: ":1\r\n", count: 60), "too many values"
            ),
            ("+" + String(repeating: "a", count: 70_000), "too long"),
        ])
    func broken(text: String, fault: String) {
        for partSize in [3, 1_000_000] {
            var limits = ReplyLimits()
            limits.maxBytes = 1000
            limits.maxValues = 100
            limits.maxDepth = 7
            if text.hasPrefix("+") { limits.maxBytes = 1 << 20 }
            let error = #expect(throws: ClientError.self) {
                try replies(in: text, limits: limits, partSize: partSize)
            }
            #expect(error?.code == .protocol)
            #expect(error?.message.lowercased().contains(fault) == true, "\(error?.message ?? "")")
        }
    }

    @Test("A large value is read within its limit")
    func large() throws {
        let text = "$3000000\r\n" + String(repeating: "b", count: 3_000_000) + "\r\n:1\r\n"
        let values = try replies(in: text, partSize: 65_536)
        #expect(values == [.bytes(Data(repeating: 0x62, count: 3_000_000)), .integer(1)])
    }
}
