// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeCore

@testable import TurnpikeCommandLine

@Suite("JSON laid out for a person")
struct JSONLayoutTests {
    private func text(_ json: String, hasColor: Bool = false) -> String? {
        JSONLayout.text(Data(json.utf8), hasColor: hasColor).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test("Members and elements have a line each; what is empty stays on its line")
    func lines() {
        #expect(
            text(#"{"a":[1, {"b" :null}],"c":{ },"d":[ ]}"#) == """
                {
                  "a": [
                    1,
                    {
                      "b": null
                    }
                  ],
                  "c": {},
                  "d": []
                }

                """)
        for word in ["true", "-1", "\"x\"", "[]"] { #expect(text(" \(word)\r\n") == word + "\n") }
    }

    @Test("Only blanks change: numbers, escapes and repeated names stay as they were written")
    func tokens() {
        let json = #"{"n":[1.50e+3,12345678901234567890123,-0.0],"\u00e9\"\\":"é\/","n":2}"#
        #expect(text(json)?.filter { $0 != " " && $0 != "\n" } == json)
        #expect(text("\u{FEFF}[1]") == "[\n  1\n]\n")
    }

    @Test("Names, strings, numbers and words have colors of their own")
    func colors() {
        #expect(
            text(#"{"a":["b",1,true]}"#, hasColor: true) == """
                {
                  \u{1B}[34;1m"a"\u{1B}[0m: [
                    \u{1B}[32m"b"\u{1B}[0m,
                    \u{1B}[36m1\u{1B}[0m,
                    \u{1B}[33mtrue\u{1B}[0m
                  ]
                }

                """)
    }

    @Test("Characters that a terminal obeys become escapes of JSON")
    func control() throws {
        let json = "[\"a\u{9B}31m\u{7F}\u{202E}é語👧\"]"
        let shown = try #require(text(json))
        #expect(shown == "[\n  \"a\\u009b31m\\u007f\\u202eé語👧\"\n]\n")
        #expect(try JSONValue(parsing: shown) == JSONValue(parsing: json))
    }

    @Test(
        "What is not JSON, or too large, is not laid out",
        arguments: ["", "{", "{'a':1}", "[1,]", "[1] [2]", "[\"\u{1B}\"]", "NaN"])
    func invalid(json: String) {
        #expect(text(json) == nil)
    }

    @Test("The size is bounded, of the text and of what becomes of it")
    func bounds() throws {
        let room = JSONLayout.maxBytes - 2
        #expect(text("\"" + String(repeating: "x", count: room) + "\"") != nil)
        #expect(text("\"" + String(repeating: "x", count: room + 1) + "\"") == nil)
        let depth = 500
        let elements = String(repeating: "1,", count: 100_000) + "1"
        let deep =
            String(repeating: "[", count: depth) + elements + String(repeating: "]", count: depth)
        #expect(try #require(text(deep, hasColor: true)).utf8.count < 60 * 100_000)
    }

    @Test("Whatever is laid out has the same value", arguments: 0..<200)
    func law(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let value = Self.value(depth: 4, &random)
        let shown = try #require(JSONLayout.text(value.data(), hasColor: false))
        #expect(try JSONValue(parsing: shown) == value)
    }

    @Test("Any bytes are either laid out or not", arguments: 0..<200)
    func damaged(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var data = Self.value(depth: 4, &random).data(pretty: true)
        for _ in 0..<3 {
            let place = Int.random(in: 0..<data.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: data[place] = UInt8.random(in: 0...255, using: &random)
            case 1: data.insert(contentsOf: "\"\\{}[],: 1".utf8.shuffled(using: &random), at: place)
            default: data = data.prefix(place + 1)
            }
        }
        guard let shown = JSONLayout.text(data, hasColor: false) else { return }
        #expect(try JSONValue(parsing: shown) == JSONValue(parsing: data))
    }

    private static func value(depth: Int, _ random: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &random) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &random))
        case 2: return .number(JSONNumber(Int.random(in: -1000...1000, using: &random)))
        case 3:
            return JSONNumber(Double.random(in: -1e9...1e9, using: &random)).map(JSONValue.number)
                ?? .null
        case 4: return .string(string(&random))
        case 5:
            return .array(
                (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                    value(depth: depth - 1, &random)
                })
        default:
            return .object(
                JSONObject(
                    (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                        (string(&random), value(depth: depth - 1, &random))
                    }))
        }
    }

    private static func string(_ random: inout SeededGenerator) -> String {
        let characters = [
            "a", "\"", "\\", "{", "]", ":", ",", "\n", "\u{1B}", "\u{9B}", "\u{202E}", "é", "👧",
            " ",
        ]
        return (0..<Int.random(in: 0..<6, using: &random)).map { _ in
            characters.randomElement(using: &random) ?? ""
        }.joined()
    }
}
