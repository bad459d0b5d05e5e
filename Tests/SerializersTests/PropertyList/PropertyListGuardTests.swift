// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

@Suite("Property list guard")
struct PropertyListGuardTests {
    /// Levels that a reader meets and that a look at the text may pass over.
    private var hiddenDepths: [Data] {
        let plain = String(
            repeating: "<array>", count: Runs.size(20_000, all: 200_000))
        let prologs = [
            "<!DOCTYPE plist \"<!--\">", "<!DOCTYPE plist [<![CDATA[ > ]>",
            "<!DOCTYPE plist [<!ELEMENT a \"<!--\"> ]>", "<!DOCTYPE plist [<!ELEMENT a \"<?\"> ]>",
            "<!DOCTYPE plist \"<?\">", "<!DOCTYPE plist [ \(plain.replacing("<", with: "</")) ]>",
        ]
        let comments = String(repeating: "<array><!--></array>-->", count: 200_000)
        let instructions = String(repeating: "<array><?></array>?>", count: 200_000)
        let shifted = plain.replacing("<", with: "+ADw-").replacing(">", with: "+AD4-")
        let blanks = String(repeating: " ", count: 5000)
        return
            (prologs.map { $0 + "<plist>" + plain } + [
                "<plist>" + comments, "<plist>" + instructions,
                "<?xml version=\"1.0\" encoding=\"UTF-7\"?>+ADw-plist+AD4-" + shifted,
                "<?xml version=\"1.0\"\(blanks)encoding='utf-7'?>+ADw-plist+AD4-" + shifted,
            ]).map { Data($0.utf8) }
    }

    @Test("Property lists that would overflow or never end, or of another kind, are refused early")
    func propertyListBombs() async throws {
        func list(_ objects: [[UInt8]]) -> Data {
            var content = Data("bplist00".utf8)
            var offsets: [UInt8] = []
            for object in objects {
                offsets.append(UInt8(content.count))
                content += object
            }
            let table = UInt8(content.count)
            content += offsets
            content += [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, UInt8(objects.count)]
            content += [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, table]
            return content
        }
        let fan =
            (0..<9).map { [0xAA] + Array(repeating: UInt8($0 + 1), count: 10) } + [[0x51, 0x78]]
        let bombs: [Data] = [
            list(fan), list([[0xA1, 0]]), list([[0xA2, 1, 1], [0xA2, 0, 0]]), list([[0xA1, 9]]),
            list([[0xAF, 0x13, 0x7F]]),
            list([[0xC1, 1], [0x51, 0x61]]), list([[0xA1, 1], [0xB1, 2], [0x51, 0x61]]),
            list([[0xDF, 0x10, 0xFF]]), Data("bplist00".utf8), Data("bplist00\u{1}".utf8),
            Data("{ id = 1; }".utf8), Data("((((".utf8),
            Data(
                ("<?xml version=\"1.0\"?><plist>" + String(repeating: "<array>", count: 200_000))
                    .utf8),
            Data(
                ("<plist>"
                    + String(
                        repeating: "<dict><key>a</key>", count: Runs.size(10_000, all: 100_000)))
                    .utf8),
            Data(
                "<!DOCTYPE plist [<!ENTITY a \"x\"><!ENTITY b \"&a;&a;\">]><plist><string>&b;</string></plist>"
                    .utf8),
        ]
        for bomb in bombs + hiddenDepths {
            await expectError(.serialization) {
                try await call(type: nil, bomb).propertyList()
            }
            await expectError(.serialization) {
                try await call(type: "application/x-plist", bomb).decode([Int].self)
            }
        }
        #expect(throws: Never.self) {
            try PropertyListValue(parsing: list([[0xA2, 1, 1], [0x51, 0x78]]))
        }
        let shallow =
            "<plist><!-- <array> --><array><string><![CDATA[<array>]]></string><true/></array></plist>"
        let nested =
            String(repeating: "<array>", count: 200) + String(repeating: "</array>", count: 200)
        #expect(throws: Never.self) { try PropertyListValue(parsing: Data(shallow.utf8)) }
        #expect(throws: Never.self) {
            try PropertyListValue(parsing: Data(("<plist>" + nested + "</plist>").utf8))
        }
    }

    @Test("A string that many places share does not expand without bound")
    func sharedTexts() throws {
        func word(_ value: Int) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
        }
        // The text once, and a reference to it for each element.
        func list(_ letter: Character, _ length: Int, _ count: Int) -> Data {
            var text: [UInt8] = []
            for unit in String(letter).utf16 {
                if !letter.isASCII { text.append(UInt8(unit >> 8)) }
                text.append(UInt8(truncatingIfNeeded: unit))
            }
            var content = Data("bplist00".utf8)
            content += [0xAF, 0x12] + word(count) + Array(repeating: 1, count: count)
            let start = content.count
            content += [letter.isASCII ? 0x5F : 0x6F, 0x12] + word(length)
            for _ in 0..<length { content += text }
            let table = content.count
            content += word(8) + word(start)
            content += [0, 0, 0, 0, 0, 0, 4, 1] + [0, 0, 0, 0, 0, 0, 0, 2]
            return content + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0] + word(table)
        }
        #expect(try PropertyListValue(parsing: list("x", 500, 500))[499]?.string?.count == 500)
        for letter: Character in ["x", "\u{4E00}"] {
            let bomb = list(letter, 50_000, 50_000)
            let error = #expect(throws: ClientError.self) { try PropertyListValue(parsing: bomb) }
            #expect(error?.message.contains("expands to more than 100 times its size") == true)
            expectError(.serialization) {
                try PropertyListValueDecoder().decode([String].self, from: bomb)
            }
        }
    }

    @Test("Integers of 16 bytes are exact, or refused if they do not fit 64 bits")
    func longIntegers() async throws {
        func list(_ bytes: [UInt8]) -> Data {
            var content = Data("bplist00".utf8)
            content += [0x14]
            content += bytes
            content += [8]
            content += [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1]
            content += [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, UInt8(9 + bytes.count)]
            return content
        }
        func bytes(_ high: UInt64, _ low: UInt64) -> [UInt8] {
            [high, low].flatMap { word in
                (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
            }
        }
        #expect(try PropertyListValue(parsing: list(bytes(0, .max))) == .unsigned(.max))
        #expect(try PropertyListValue(parsing: list(bytes(0, 1 << 63))) == .unsigned(1 << 63))
        #expect(try PropertyListValue(parsing: list(bytes(0, 5))) == .integer(5))
        let bad = [
            bytes(1, 0), bytes(.max, .max), bytes(.max, 0), bytes(.max, 1 << 62),
            bytes(.max >> 1, .max),
            bytes(1 << 63, 0), Array(bytes(0, 5).prefix(8)),
        ]
        for bytes in bad {
            expectError(.serialization) { try PropertyListValue(parsing: list(bytes)) }
            await expectError(.serialization) {
                try await call(type: "application/x-plist", list(bytes)).decode(Int.self)
            }
        }
    }

    // Foundation ends the process at some of these lists.
    @Test("Strings and data that extend beyond the objects are refused, and do not end the process")
    func longTexts() async {
        await #expect(processExitsWith: .success) {
            let texts: [[UInt8]] = [
                [0x6F, 0x10, 100], [0x6F, 0x10, 52], [0x5F, 0x10, 104], [0x4F, 0x10, 104],
                [0x6F, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0], [0x6F], [0x6F, 0x14], [0x6F, 0x51],
            ]
            let tops: [[UInt8]] = [[0xA1, 1], [0xD1, 1, 1]]
            for top in tops {
                for text in texts {
                    var content = Data("bplist00".utf8) + top + text
                    content += Array(repeating: [0, 0x78], count: 50).joined()
                    let table = UInt8(content.count)
                    content += [8, 8 + UInt8(top.count)] + [0, 0, 0, 0, 0, 0, 1, 1]
                    content += [0, 0, 0, 0, 0, 0, 0, 2] + [0, 0, 0, 0, 0, 0, 0, 0]
                    content += [0, 0, 0, 0, 0, 0, 0, table]
                    expectError(.serialization) { try PropertyListValue(parsing: content) }
                    for decode in [
                        { _ = try PropertyListValueDecoder().decode([String].self, from: $0) },
                        { _ = try PropertyListValueDecoder().decode([Data].self, from: $0) },
                        {
                            _ = try PropertyListValueDecoder().decode(
                                [String: String].self, from: $0)
                        },
                    ] as [(Data) throws -> Void] {
                        expectError(.serialization) { try decode(content) }
                    }
                }
            }
        }
    }

    @Test("Nested arrays that share their bytes take little memory")
    func sharedBytes() async {
        // Other tests take memory of their own.
        await #expect(processExitsWith: .success) {
            func peak() throws -> Int {
                let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
                let words = text.split { $0.isWhitespace }
                let place = try #require(words.firstIndex(of: "VmHWM:"))
                return try #require(Int(words[place + 1]))
            }
            // Each of 256 arrays begins within the array before it, and extends to the table.
            let table = 300_000
            var content = Data("bplist00".utf8)
            for number in 1...256 {
                let count = table - content.count - 6
                content += [0xAF, 0x12, 0] + [16, 8, 0].map { UInt8(count >> $0 & 0xFF) }
                content += [UInt8(number & 0xFF)]
            }
            content += Data(count: table - content.count)
            for number in 0..<256 {
                content += [16, 8, 0].map { UInt8((8 + number * 7) >> $0 & 0xFF) }
            }
            content += [0, 0, 0, 0, 0, 0, 3, 1] + [0, 0, 0, 0, 0, 0, 1, 0]
            content +=
                Data(count: 8)
                + [24, 16, 8, 0].reduce(Data(count: 4)) {
                    $0 + [UInt8(table >> $1 & 0xFF)]
                }
            let before = try peak()
            expectError(.serialization) { try PropertyListValue(parsing: content) }
            #expect(try peak() - before < 100_000)
        }
    }

    @Test("Dates with years of any length are refused, and do not end the process")
    func longYears() async {
        await #expect(processExitsWith: .success) {
            func decoded(_ date: String) throws -> [Date] {
                let text = "<plist><array><date >\(date)</date></array></plist>"
                return try PropertyListValueDecoder().decode([Date].self, from: Data(text.utf8))
            }
            #expect(
                (try? decoded("2001-02-03T04:05:06Z")) == [
                    Date(timeIntervalSinceReferenceDate: 2_865_906)
                ])
            for year in ["9223372036854775806", "9223372036854775807"] {
                for sign in ["", "-"] {
                    expectError(.serialization) { try decoded("\(sign)\(year)-01-01T00:00:00Z") }
                }
            }
        }
    }
}
