// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

/// `.json()` and `.decode(_:)` read the same texts, and the same values.
@Suite("JSON as a value and as a type")
struct SameTextsTests {
    private struct Named: Codable, Equatable {
        var name: String?
    }

    private struct Holder: Codable, Equatable {
        var id: Int
        var raw: JSONValue
        var list: [JSONValue]
        var map: [String: JSONValue]
        var none: JSONValue?
    }

    private func call(_ content: Data) -> Call {
        let transport = MockTransport { _ in
            .status(200, headers: ["Content-Type": "application/json"], body: content)
        }
        return Client(transport: transport, stack: [], serializers: .standard)
            .get("http://a.example/")
    }

    @Test(
        "A text that one refuses is refused by the other, with the position",
        arguments: [
            #"{"name":"a",}"#, #"{"x":01}"#, #"{"x":+1}"#, #"{"x":.5}"#, #"{"x":1.}"#,
            #"{"x":NaN}"#,
            #"{"x":1e400}"#, #"{"x":"\q"}"#, #"{"x":"\ud800"}"#, #"{"x":"\u12"}"#, #"{"x":'a'}"#,
            #"{"x":[1,]}"#, #"{"x":[1 2]}"#, #"{"x":tru}"#, #"{"x":/* */1}"#, #"{x:1}"#,
            #"{"x":1} 2"#,
            "{\"x\":\"a\nb\"}", "{\"x\":\"\u{0}\"}", "{\"x\":1", "{", "nope",
            "{\"x\":" + String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
                + "}",
            "{\"x\":" + String(repeating: "9", count: 2000) + "}",
        ])
    func refused(text: String) async {
        await refuses(Data(text.utf8))
    }

    @Test(
        "A text that is not UTF-8 is refused by both",
        arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf32])
    func encodings(encoding: String.Encoding) async throws {
        await refuses(try #require(#"{"name":"a"}"#.data(using: encoding)))
        await refuses(Data(#"{"x":""#.utf8) + [0xFF] + Data(#""}"#.utf8))
        await refuses(Data(#"{"x":""#.utf8) + [0xED, 0xA0, 0x80] + Data(#""}"#.utf8))
    }

    private func refuses(_ content: Data) async {
        let first = await #expect(throws: ClientError.self) { try await call(content).json() }
        let second = await #expect(throws: ClientError.self) {
            try await call(content).decode(Named.self)
        }
        #expect(first?.code == .serialization && second?.code == .serialization)
        #expect(first?.message == second?.message)
        #expect(second?.underlying is JSONSyntaxError)
    }

    @Test(
        "A text that one reads is read by the other",
        arguments: [
            #"{"name":"a"}"#, #" {"name" : "a" , "x" : [ ] } "#, #"{"name":"a","name":"b"}"#,
            #"{"name":"a","x":-0}"#,
            #"{"name":"\u0061","x":"\ud83d\ude00"}"#, "\u{FEFF}{\"name\":\"a\"}",
            #"{"name":"a","x":1e300}"#,
            #"{"x":123456789012345678901234567890,"name":"a"}"#,
        ])
    func read(text: String) async throws {
        let content = Data(text.utf8)
        #expect(try await call(content).json()["name"] == "a")
        #expect(try await call(content).decode(Named.self) == Named(name: "a"))
    }

    @Test(
        "A JSONValue equals the text, wherever it is decoded",
        arguments: [
            "0", "-0", "1", "1.0", "1e2", "18446744073709551615", "18446744073709551616",
            "-9223372036854775809", "123456789012345678901234567890",
            "123456789012345678901234567890123456789012345678901234567890", "0.1", "1e300", "null",
            "true",
            "\"a\"", "[]", "{}", "[1,[2.0,{\"b\":340282366920938463463374607431768211457}]]",
            "{\"z\":1,\"a\":2,\"e\u{301}\":3,\"\u{E9}\":4}",
        ])
    func exact(text: String) async throws {
        let value = try JSONValue(parsing: text)
        let content = Data(text.utf8)
        #expect(try await call(content).json() == value)
        let decoded = try await call(content).decode(JSONValue.self)
        #expect(decoded == value && decoded.description == value.description)
        #expect(try await call(Data("[\(text)]".utf8)).decode([JSONValue].self) == [value])
        #expect(
            try await call(Data("{\"k\":\(text)}".utf8)).decode([String: JSONValue].self) == [
                "k": value
            ])
        let holder = #"{"id":1,"raw":%,"list":[%,%],"map":{"a.b":%,"0":%}}"#.replacing(
            "%", with: text)
        let held = try await call(Data(holder.utf8)).decode(Holder.self)
        #expect(
            held
                == Holder(
                    id: 1, raw: value, list: [value, value], map: ["a.b": value, "0": value]))
        let lines = call(Data("\(text)\n".utf8)).jsonLines(of: JSONValue.self)
        for try await line in lines { #expect(line == value) }
    }

    @Test("Other decoders have their own rules")
    func ownDecoders() async throws {
        let snake = JSONValueDecoder {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return decoder
        }
        struct User: Decodable { var rawData: JSONValue }
        let content = Data(#"{"raw_data":{"a":18446744073709551615}}"#.utf8)
        let user = try await call(content).decode(User.self, with: snake)
        #expect(user.rawData["a"] == .number(JSONNumber(UInt64.max)))
        let lenient = JSONValueDecoder {
            let decoder = JSONDecoder()
            decoder.allowsJSON5 = true
            return decoder
        }
        let named = try await call(Data("{name: 'a',}".utf8)).decode(Named.self, with: lenient)
        #expect(named == Named(name: "a"))
    }
}
