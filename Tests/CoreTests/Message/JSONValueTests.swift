// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore

@Suite("JSONValue")
struct JSONValueTests {
    @Test("Parses every kind of value and keeps the order of members")
    func kinds() throws {
        let value = try JSONValue(
            parsing: #" {"b":[1,-2,3.5,1e3,true,false,null],"a":"x\n\u00e9\ud83d\ude00\/"} "#)
        #expect(value.object?.names == ["b", "a"])
        #expect(value["b"]?[0]?.int == 1)
        #expect(value["b"]?[1]?.int == -2)
        #expect(value["b"]?[2]?.double == 3.5)
        #expect(value["b"]?[3]?.double == 1000)
        #expect(value["b"]?[6] == .null)
        #expect(value["a"]?.string == "x\né😀/")
        #expect(value["c"] == nil)
        #expect(value["b"]?[9] == nil)
    }

    @Test(
        "Integers of any size are exact",
        arguments: [
            "0", "9223372036854775807",
            "-9223372036854775808", "18446744073709551615", "123456789012345678901234567890",
        ])
    func integers(text: String) throws {
        #expect(try JSONValue(parsing: text).description == text)
    }

    @Test("Numbers convert to what they fit")
    func numbers() throws {
        let big = try JSONValue(parsing: "18446744073709551615")
        guard case .number(let number) = big else {
            Issue.record("no number")
            return
        }
        #expect(number.int == nil)
        #expect(number.uint64 == .max)
        #expect(number.decimal == Decimal(UInt64.max))
        #expect(try JSONValue(parsing: "-0").double?.sign == .minus)
        #expect(try JSONValue(parsing: "-9223372036854775808").int == Int.min)
        #expect(try JSONValue(parsing: "-9223372036854775808") == .number(JSONNumber(Int64.min)))
        #expect(try JSONValue(parsing: "-9223372036854775809").int == nil)
        #expect(try JSONValue(parsing: "1.0").int == 1)
    }

    @Test("A decimal has at most 38 digits")
    func decimals() throws {
        let nines = String(repeating: "9", count: 38)
        func decimal(_ text: String) throws -> String? {
            guard case .number(let number) = try JSONValue(parsing: text) else { return nil }
            return number.decimal?.description
        }
        for text in [nines, "-" + nines] { #expect(try decimal(text) == text) }
        for text in [nines + "9", "-" + nines + "9"] { #expect(try decimal(text) == nil) }
    }

    @Test(
        "Text that is not JSON is refused with its position",
        arguments: [
            "", " ", "{", "[1,]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "[1 2]", "01", "-", "1.", "1e",
            "+1", ".5", "tru", "nul", "NaN", "Infinity", "'a'", "\"a", "\"\\x\"", "\"\\u12\"",
            "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"a\nb\"", "\"a\0\"", "[1]]", "{} {}", "1e400",
            "\u{FEFF}\u{FEFF}1",
        ])
    func nonsense(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test("Invalid UTF-8 and UTF-16 are refused")
    func encodings() {
        for bytes: [UInt8] in [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x5B, 0, 0x5D, 0],
        ] {
            #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: Data(bytes)) }
        }
        #expect(throws: Never.self) { try JSONValue(parsing: Data([0xEF, 0xBB, 0xBF, 0x31])) }
    }

    @Test("A syntax error has line and column, but none of the text")
    func place() throws {
        let error = #expect(throws: JSONSyntaxError.self) {
            try JSONValue(parsing: "{\n  \"password\": \"s3cret\",\n  oops\n}")
        }
        #expect(error?.line == 3)
        #expect(error?.column == 3)
        #expect(error.map { !"\($0)".contains("s3cret") } == true)
    }

    @Test("Deep nesting, long numbers and numbers out of range are refused early")
    func bombs() {
        for bomb in [
            String(repeating: "[", count: 1_000_000), String(repeating: "{\"a\":", count: 200_000),
            String(repeating: "9", count: 200_000), "1e1000000000",
        ] {
            #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: bomb) }
        }
    }

    @Test("Of two members of one name the first counts, or the text is refused")
    func duplicates() throws {
        let text = #"{"r":"user","r":"admin"}"#
        #expect(try JSONValue(parsing: text)["r"] == "user")
        var strict = JSONReadingOptions()
        strict.refusesDuplicateNames = true
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text, options: strict) }
    }

    @Test("Large objects are found by name")
    func largeObjects() throws {
        var object = JSONObject()
        for index in 0..<1000 { object["k\(index)"] = .number(JSONNumber(index)) }
        let value = try JSONValue(parsing: JSONValue.object(object).data())
        #expect(value["k777"]?.int == 777)
        #expect(value.object?.count == 1000)
        object["k0"] = nil
        #expect(object["k777"]?.int == 777)
        #expect(object.count == 999)
    }

    @Test("Writes text that it parses back", arguments: [false, true])
    func roundTrip(pretty: Bool) throws {
        let value: JSONValue = [
            "s": "quote \" backslash \\ control \u{1} \u{1F} tab \t é 😀", "n": nil, "b": true,
            "i": -5, "d": 0.1, "e": [], "o": [:], "l": [1, [2, ["x": 3]]],
        ]
        #expect(try JSONValue(parsing: value.data(pretty: pretty)) == value)
        #expect(value.data(sortedNames: true).first == UInt8(ascii: "{"))
    }

    @Test("Agrees with Foundation on what is JSON", arguments: 0..<200)
    func differential(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-2.5", "true", "null", " ", "e5",
            "0",
        ]
        let text = (0..<Int.random(in: 1...12, using: &random)).map { _ in
            pieces.randomElement(using: &random) ?? ""
        }.joined()
        let ours = (try? JSONValue(parsing: text)) != nil
        // JSONDecoder takes a trailing comma; the grammar does not.
        let hasTrailingComma =
            text.replacing(" ", with: "").contains { _ in false }
            || text.replacing(" ", with: "").contains(",]")
            || text.replacing(" ", with: "").contains(",}")
        let theirs =
            (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed))
            != nil
        if !hasTrailingComma { #expect(ours == theirs, "\(text)") }
    }

    @Test("Takes part in Codable")
    func codable() throws {
        let value: JSONValue = ["a": [1, 2.5, "x", nil, true], "big": 3]
        let data = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: data) == value)
    }

    @Test(
        "Names and strings that only look the same are different (RFC 8259 §8.3)",
        arguments: [0, 20])
    func canonicalEquivalence(others: Int) throws {
        let filling = (0..<others).map { "\"\($0)\":0," }.joined()
        let text = "{\(filling)\"\u{E9}\":1,\"e\u{301}\":2}"
        let value = try JSONValue(
            parsing: text, options: JSONReadingOptions(refusesDuplicateNames: true))
        #expect(value.object?.count == others + 2)
        #expect(value["\u{E9}"] == 1)
        #expect(value["e\u{301}"] == 2)
        #expect(value["\u{E8}"] == nil)
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
        #expect(JSONValue.object(["\u{E9}": 1]) != .object(["e\u{301}": 1]))
        #expect(JSONValue.array(["K"]) != .array(["\u{212A}"]))
        #expect(try JSONValue(parsing: text) == value)
    }
}
