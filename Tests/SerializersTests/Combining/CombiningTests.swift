// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

@Suite("Serializers made of others")
struct CombiningTests {
    private struct Thrown: Error {}

    @Test("A mapped value, or the error that the closure throws")
    func map() async throws {
        let call = call("abc")
        #expect(try await call.serialize(with: StringSerializer().map { $0.count }) == 3)
        await #expect(throws: Thrown.self) {
            try await call.serialize(with: StringSerializer().map { _ -> Int in throw Thrown() })
        }
    }

    @Test(
        "Guard prefixes of JSON are removed",
        arguments: [
            ("a prefix before an object", ")]}',\n{}", "{}"), ("no prefix", "{}", "{}"),
            ("Angular", ")]}'\r\n[1]", "[1]"),
            ("comma", ")]}',[1]", "[1]"), ("loop", "while(1);[1]", "[1]"),
            ("for", "for(;;);{}", "{}"), ("text", ")]}' is text\nx", " is text\nx"),
        ])
    func xssi(id: String, content: String, expected: String) async throws {
        let text = StringSerializer().preprocessed(by: .removingXSSIPrefix)
        #expect(try await call(content).serialize(with: text) == expected)
    }

    @Test("A preprocessor's error has the head and the content")
    func preprocessorError() async throws {
        let failing = DataSerializer().preprocessed(by: ContentPreprocessor { _ in throw Thrown() })
        let error = await #expect(throws: ClientError.self) {
            try await call("abc").serialize(with: failing)
        }
        #expect(error?.code == .serialization && error?.underlying is Thrown)
        #expect(error?.response?.status == 200 && error?.responseBody == Data("abc".utf8))
    }

    @Test("Empty or blank content is a value if the rule says so")
    func empty() async throws {
        let rule = EmptyContentRule.any.countingBlanks()
        let json = JSONSerializer().valueForEmpty(.null, where: rule)
        #expect(try await call("").serialize(with: json) == .null)
        #expect(try await call(" ").serialize(with: json) == .null)
        #expect(try await call(" [1]").serialize(with: json) == [1])
        let long = String(repeating: " ", count: 17)
        await expectError(.serialization) { try await call(long).serialize(with: json) }
        let list = PropertyListSerializer().map { Optional($0) }.valueForEmpty(nil)
        #expect(try await call(status: 204, "").serialize(with: list) == nil)
        await expectError(.serialization) { try await call("").serialize(with: list) }
    }

    @Test("Statuses and methods of a rule count")
    func rule() async throws {
        let rule = EmptyContentRule(statuses: [200], methods: [])
        let text = StringSerializer().valueForEmpty("nothing", where: rule)
        #expect(try await call("").serialize(with: text) == "nothing")
        #expect(try await call(status: 204, "").serialize(with: text) == "")
    }

    @Test("The first serializer that yields a value wins")
    func firstFit() async throws {
        struct Image: ContentSerializer {
            var accept: [MediaType] { ["image/png"] }
            func serialize(_ content: Data, of head: ResponseHead) throws -> JSONValue {
                throw Thrown()
            }
        }
        let both = FirstFitSerializer<JSONValue>([Image(), JSONSerializer()])
        let answered = call(type: "application/json", #"{"key":"value"}"#)
        #expect(try await answered.serialize(with: both) == ["key": "value"])
        #expect(both.accept(in: .standard).map(\.essence) == ["image/png", "application/json"])
        let error = await #expect(throws: ClientError.self) {
            try await call("{invalid").serialize(with: both)
        }
        #expect(error?.underlying is Thrown)
    }

    @Test("Several serializers share one response")
    func joint() async throws {
        let transport = MockTransport { _ in .ok(json: [1, 2]) }
        let client = Client(transport: transport, stack: [], serializers: .standard)
        let (numbers, bytes, count) = try await client.get(anywhere).serialize(
            with: DecodableSerializer([Int].self), DataSerializer(),
            JSONSerializer().map { $0.array?.count })
        #expect(numbers == [1, 2] && bytes == Data("[1,2]".utf8) && count == 2)
        #expect(transport.sentCount == 1)
    }

    @Test("JSON is read only from the types that it is registered for")
    func responses() async throws {
        var table = SerializerTable()
        table.register(JSONSerializer(), as: "json", for: [.json, "text/json", "text/javascript"])
        for type in ["application/json", "text/javascript"] {
            let call = call(type: type, Data("[1]".utf8), table: table)
            #expect(try await call.auto() as? JSONValue == [1])
        }
        await expectError(.serialization) {
            try await call(type: "nonstandard/json", Data("[1]".utf8), table: table).auto()
        }
        await expectError(.serialization) { try await call("{invalid}").json() }
    }

    @Test(
        "Text is decoded by its charset",
        arguments: [
            ("no type: UTF-8", [0xC3, 0xA9], nil, "é"),
            ("UTF-8", [0xC3, 0xA9], "text/plain; charset=utf-8", "é"),
            ("Latin-1", [0xE9], "text/plain; charset=iso-8859-1", "é"),
            ("JSON: UTF-8", [0xC3, 0xA9], "application/json", "é"),
            ("UTF-16, little-endian", [0x61, 0, 0x62, 0], "text/plain; charset=utf-16le", "ab"),
            (
                "UTF-16 by its byte order mark", [0xFF, 0xFE, 0x61, 0],
                "text/plain; charset=utf-16", "a"
            ),
        ] as [(String, [UInt8], String?, String)])
    func charsets(id: String, bytes: [UInt8], type: String?, expected: String) async throws {
        #expect(try await call(type: type, Data(bytes)).string() == expected)
    }

    @Test("Bytes that are not valid in a given encoding are an error")
    func wrongEncoding() async throws {
        await expectError(.serialization) {
            try await call(Data([0, 0, 0xFF, 0xFE, 0x72, 0, 0, 0])).string(encoding: .utf8)
        }
    }

    /// What a serializer makes of nothing.
    struct Nothing: CustomTestStringConvertible, Sendable {
        let serializer: String
        let method: HTTPMethod
        let status: HTTPStatus
        let isRight: Bool
        var testDescription: String { "\(serializer) of \(method) \(status.code)" }

        init(
            _ serializer: String, _ method: HTTPMethod, _ status: HTTPStatus, _ isRight: Bool
        ) {
            self.serializer = serializer
            self.method = method
            self.status = status
            self.isRight = isRight
        }
    }

    @Test(
        "Empty content is a value only if a response never has content",
        arguments: [
            Nothing("string", .get, 200, false), Nothing("string", .get, 204, true),
            Nothing("string", .head, 200, true), Nothing("string", .get, 304, false),
            Nothing("string", .post, 201, false), Nothing("json", .get, 204, true),
            Nothing("json", .get, 304, false), Nothing("json", .post, 201, false),
            Nothing("empty", .get, 205, true), Nothing("empty", .head, 200, true),
            Nothing("empty", .get, 304, false), Nothing("user", .get, 204, false),
        ])
    func nothing(vector: Nothing) async throws {
        struct User: Decodable, Sendable {}
        let call = call(status: vector.status, "", method: vector.method)
        func read() async throws {
            switch vector.serializer {
            case "string": #expect(try await call.string().isEmpty)
            case "json": #expect(try await call.json() == .null)
            case "empty": #expect(try await call.decode(Empty.self) == Empty())
            default: _ = try await call.decode(User.self)
            }
        }
        if vector.isRight { return try await read() }
        let error = await #expect(throws: ClientError.self) { try await read() }
        #expect(error?.code == .serialization)
        if vector.serializer == "user" { #expect(error?.message.contains("User") == true) }
    }
}
