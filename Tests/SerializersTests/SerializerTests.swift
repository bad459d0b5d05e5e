// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

private struct User: Codable, Sendable, Equatable {
    var id: Int
    var name: String?
    var born: Date?
}

@Suite("Serializers")
struct SerializerTests {
    @Test("Data is returned unchanged, even if it is empty")
    func data() async throws {
        #expect(try await call("abc").data() == Data("abc".utf8))
        #expect(try await call("").data().isEmpty)
        try await call(String(repeating: "x", count: 100_000)).empty()
    }

    @Test(
        "Text is decoded by byte order mark, charset and default",
        arguments: [
            ("text/plain; charset=utf-8", [0xC3, 0xA9], "é"), (nil, [0xC3, 0xA9], "é"),
            ("application/json", [0xC3, 0xA9], "é"),
            ("text/plain; charset=iso-8859-1", [0xE9], "é"),
            ("text/plain; charset=\"UTF-8\"", [0xC3, 0xA9], "é"),
            ("text/plain; charset=utf8", [0xC3, 0xA9], "é"),
            ("text/plain; charset=utf-16le", [0x61, 0, 0x62, 0], "ab"),
            ("text/plain; charset=utf-16", [0xFF, 0xFE, 0x61, 0], "a"),
            ("text/plain; charset=utf-16", [0, 0x61], "a"),
            ("text/plain; charset=iso-8859-1", [0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "é"),
            ("text/plain; charset=shift_jis", [0x93, 0xFA, 0x96, 0x7B], "日本"),
            ("text/plain; charset=euc-jp", [0xC6, 0xFC, 0xCB, 0xDC], "日本"),
            ("text/plain; charset=koi8-r", [0xF0, 0xD2], "Пр"),
            ("text/plain; charset=gb18030", [0xD6, 0xD0], "中"),
            ("text/plain; charset=windows-1252", [0x80], "€"),
            ("text/plain; charset=us-ascii", [0x61], "a"),
            ("text/plain; charset=euc-kr", [0xC7, 0xD1], "한"),
            // The library holds a letter back that a mark may follow.
            ("text/plain; charset=windows-1258", [0x61, 0x62], "ab"),
            ("text/plain; charset=windows-1255", [0xF9, 0xEC], "של"),
            ("text/plain; charset=big5-hkscs", [0x88, 0x66], "Ê"),
            ("text/plain; charset=macintosh", [0x80, 0xCA, 0xD2], "Ä\u{A0}“"),
            ("text/plain; charset=windows-949", [0x81, 0x41], "갂"),
            ("text/plain; charset=ks_c_5601-1987", [0xC7, 0xD1], "한"),
            ("text/plain; charset=windows-31j", [0x87, 0x40], "①"),
            ("text/plain; charset=x-sjis", [0x93, 0xFA], "日"),
            ("text/plain; charset=ISO8859-15", [0xA4], "€"),
            ("text/plain; charset=latin-9", [0xA4], "€"),
            ("text/plain; charset=cp1251", [0xCF], "П"),
            ("text/plain; charset=cp1252", [0x80], "€"),
            ("text/plain; charset=ascii", [0x61], "a"),
            ("text/plain; charset=gb_2312-80", [0xD6, 0xD0], "中"),
            ("text/plain; charset=gb2312", [0xE9, 0x46], "镕"),
            ("text/plain; charset=utf-32", [0, 0, 0, 0x61], "a"),
        ] as [(String?, [UInt8], String)])
    func text(type: String?, bytes: [UInt8], expected: String) async throws {
        #expect(try await call(type: type, Data(bytes)).string() == expected)
    }

    @Test(
        "Text that is invalid in its encoding, or in an unknown one, is an error",
        arguments: [
            ("text/plain; charset=utf-8", [0xFF]), (nil, [0x6E, 0xEF, 0x76]),
            ("text/plain; charset=klingon", [0x61]),
            ("text/plain; charset=us-ascii", [0xE9]),
            ("text/plain; charset=utf-16le", [0x61, 0, 0x62]),
            ("text/plain; charset=utf-32le", [0x61, 0, 0, 0, 0x62]),
            ("text/plain; charset=utf-32", [0x61, 0x62]),
            ("text/plain; charset=macintosh//TRANSLIT", [0x61]), ("text/plain; charset=cp", [0x61]),
            ("text/plain; charset=iso8859-99999999999999999999", [0x61]),
            ("text/plain; charset=utf-7", [0x2B, 0x41]),
            ("text/plain; charset=utf-8", [0xED, 0xA0, 0x80]),
            ("text/plain; charset=\"../../x\"", [0x61]),
            ("text/plain; charset=koi8-r//IGNORE", [0x61]),
        ] as [(String?, [UInt8])])
    func badText(type: String?, bytes: [UInt8]) async throws {
        let error = await #expect(throws: ClientError.self) {
            try await call(type: type, Data(bytes)).string()
        }
        #expect(error?.code == .serialization)
        #expect(error?.response?.status == 200)
    }

    @Test("A given encoding has priority")
    func givenEncoding() async throws {
        let type = "text/plain; charset=utf-8"
        #expect(try await call(type: type, Data([0xE9])).string(encoding: .isoLatin1) == "é")
        #expect(try await call(type: type, Data([0x80])).string(encoding: .macOSRoman) == "Ä")
        await expectError(.serialization) {
            try await call(type: type, Data([0, 0, 0xFF, 0xFE])).string(encoding: .utf8)
        }
    }

    @Test(
        "Empty content is a value only if a response never has content",
        arguments: [
            (HTTPStatus(204), HTTPMethod.get, true), (205, .get, true), (200, .head, true),
            (200, .get, false), (201, .post, false),
            (304, .get, false),
        ])
    func empty(status: HTTPStatus, method: HTTPMethod, isRight: Bool) async throws {
        func fails(_ body: () async throws -> Void) async -> Bool {
            do { try await body() } catch { return true }
            return false
        }
        let call = call(status: status, "", method: method)
        #expect(await fails { try #require(try await call.string().isEmpty) } != isRight)
        #expect(await fails { try #require(try await call.json() == .null) } != isRight)
        #expect(await fails { _ = try await call.decode(Empty.self) } != isRight)
        #expect(await fails { try #require(try await call.decode(User?.self) == nil) } != isRight)
        let error = await #expect(throws: ClientError.self) { try await call.decode(User.self) }
        #expect(error?.code == .serialization && error?.message.contains("User") == true)
    }

    @Test("JSON may be any value, and its mistakes have a position")
    func json() async throws {
        let value = try await call(type: "application/json", #"{"a":[1,2.5]}"#).json()
        #expect(value["a"]?[1]?.double == 2.5)
        let error = await #expect(throws: ClientError.self) {
            try await call(#"{"password":"s3cret", oops}"#).json()
        }
        #expect(error?.code == .serialization)
        #expect(error?.message.contains("line 1, column 23") == true)
        #expect(error.map { !"\($0)".contains("s3cret") } == true)
        #expect(error?.responseBody.isEmpty == false)
    }

    @Test(
        "Property lists may be any value, in XML or binary",
        arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func propertyList(format: PropertyListSerialization.PropertyListFormat) async throws {
        let value: PropertyListValue = .dictionary([
            "s": .string("x"), "i": .integer(-5), "u": .unsigned(.max), "r": .real(1.5),
            "one": .real(1), "b": .bool(true),
            "d": .date(Date(timeIntervalSince1970: 86_400)), "x": .data(Data([1, 2])),
            "a": .array([.integer(1)]),
        ])
        let content = try value.data(format: format)
        #expect(try await call(type: "application/x-plist", content).propertyList() == value)
        struct Part: Decodable, Sendable, Equatable { var s: String, i: Int, b: Bool, a: [Int] }
        #expect(
            try await call(type: "application/x-plist", content).decode(Part.self)
                == Part(s: "x", i: -5, b: true, a: [1]))
    }

    @Test(
        "A value is decoded by the content's type",
        arguments: [
            "application/json", "application/JSON; charset=utf-8", "application/problem+json", nil,
        ])
    func decodeJSON(type: String?) async throws {
        let user = try await call(type: type, #"{"id":1,"born":"1970-01-02T00:00:00Z"}"#).decode(
            User.self)
        #expect(user == User(id: 1, born: Date(timeIntervalSince1970: 86_400)))
    }

    @Test(
        "A property list is decoded under its types and suffix",
        arguments: ["application/x-plist", "text/xml", "application/user+xml"])
    func decodePropertyList(type: String) async throws {
        let content = "<plist><dict><key>id</key><integer>1</integer></dict></plist>"
        #expect(try await call(type: type, content).decode(User.self) == User(id: 1))
    }

    @Test(
        "A decoding error names the path, has head and content, and quotes nothing",
        arguments: [
            (#"{"id":"s3cret"}"#, "$.id is not of type Int but a string"),
            (#"{"id":["s3cret"]}"#, "$.id is not of type Int but an array"),
            (#"{"id":{"s3cret":1}}"#, "$.id is not of type Int but an object"),
            (#"{"id":true,"x":"s3cret"}"#, "$.id is not of type Int but a boolean"),
            (#"{"id":1,"born":7}"#, "$.born is not of type"),
            (#"{"id":1.25,"x":"s3cret"}"#, "the content has a number that the type cannot hold"),
            (#"{"id":1,"born":"s3cret"}"#, "the content has a date that is not in the form of"),
            (#"{"name":"s3cret"}"#, "$.id is missing"),
            (#"{"id":null,"x":"s3cret"}"#, "$.id"),
            (#"{"id":1,"#, "cannot be read: line 1, column 9"),
            (#"[]"#, "the content is not of type"),
        ])
    func decodingErrors(content: String, message: String) async throws {
        let error = await #expect(throws: ClientError.self) {
            try await call(type: "application/json", content).decode(User.self)
        }
        #expect(error?.code == .serialization)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.response?.status == 200)
        #expect(error?.responseBody == Data(content.utf8))
        #expect(error.map { !"\($0)".contains("s3cret") } == true)
    }

    @Test("A name in the path of a decoding error is cut, and shown without control characters")
    func decodingPath() async throws {
        let name = "\\u001b[2J" + String(repeating: "n", count: 300)
        let error = await #expect(throws: ClientError.self) {
            try await call(type: "application/json", #"{"\#(name)": "x"}"#)
                .decode([String: Int].self)
        }
        let message = try #require(error?.message)
        #expect(message.contains(#"$.\u{1b}[2Jnnn"#), "\(message)")
        #expect(message.hasSuffix("is not of type Int but a string"))
        #expect(message.utf8.count < 250)
        let deep = String(repeating: "[", count: 60) + "1" + String(repeating: "]", count: 60)
        let other = await #expect(throws: ClientError.self) {
            try await call(type: "application/json", deep).decode(Nest.self)
        }
        #expect(other?.message.contains("$[0][0]") == true, "\(other?.message ?? "")")
        #expect(other.map { $0.message.utf8.count < 250 } == true)
    }

    private struct Nest: Decodable, Sendable {
        let inner: [Nest]
        init(from decoder: any Decoder) throws { inner = try [Nest](from: decoder) }
    }

    @Test("A type without a decoder is an error that says so; a given decoder reads it")
    func unknownTypes() async throws {
        let error = await #expect(throws: ClientError.self) {
            try await call(type: "text/html", "<p>").decode(User.self)
        }
        #expect(error?.message.contains("text/html") == true)
        #expect(
            try await call(type: "text/html", #"{"id":2}"#).decode(
                User.self, with: JSONValueDecoder()) == User(id: 2))
    }

    @Test("The table accepts the types that it reads, and chooses by type")
    func table() async throws {
        #expect(SerializerTable.standard.names.count == 6)
        let transport = MockTransport { _ in .ok(json: ["a": 1]) }
        let client = Client(transport: transport, stack: [], serializers: .standard)
        #expect(try await client.get(anywhere).auto() as? JSONValue == ["a": 1])
        _ = try await client.get(anywhere).json()
        #expect(
            transport.sent.map { $0.request.headers[.accept] } == [
                "application/json, text/json, application/x-plist, application/x-apple-plist, application/xml, text/xml,"
                    + " application/x-bplist, text/*, */*", "application/json",
            ])
        #expect(try await call(type: "text/csv", "a").auto() as? String == "a")
        #expect(try await call(type: "image/png", "a").auto() as? Data == Data("a".utf8))
        #expect(try await call(type: "a/b+json", "[]").auto() as? JSONValue == [])
    }

    @Test(
        "A registered serializer replaces that of its name, and is taken before older ones for its type"
    )
    func register() async throws {
        struct Shout: ContentSerializer {
            func serialize(_ content: Data, of head: ResponseHead) -> String {
                String(decoding: content, as: UTF8.self) + "!"
            }
        }
        var table = SerializerTable.standard
        table.register(Shout(), as: "shout", for: ["text/shout"])
        #expect(
            try await call(type: "text/shout", Data("a".utf8), table: table).auto() as? String
                == "a!")
        table.register(
            JSONSerializer(options: .init(refusesDuplicateNames: true)), as: "json", for: [.json])
        #expect(table.names.count == 7)
        table.register(Shout(), as: "shouted markup", for: ["application/xml"])
        table.register(Shout(), as: "shouted words", for: [MediaType("text", "*")])
        for type in ["application/xml", "a/b+xml", "text/plain"] {
            let value = try await call(type: type, Data("a".utf8), table: table).auto()
            #expect(value as? String == "a!", "\(type)")
        }
        await expectError(.serialization) {
            try await call(type: "application/json", Data(#"{"a":1,"a":2}"#.utf8), table: table)
                .json()
        }
        // A decoder makes any type, and this is none; the text/* of the table's strings counts for nothing.
        for (type, text) in [("text/shout", "shout"), ("text/plain", nil)] {
            let error = await #expect(throws: ClientError.self) {
                try await call(type: type, Data("a".utf8), table: table).decode(String.self)
            }
            #expect(error?.message.contains("no decoder for \(type)") == true)
            #expect(error?.message.contains("use auto()") == (text != nil))
            if let text { #expect(error?.message.contains("\"\(text)\"") == true) }
        }
        let only = SerializerTable()
        await expectError(.serialization) {
            try await call(type: "a/b", Data("x".utf8), table: only).auto()
        }
    }

    @Test("A decoder is taken before older ones for its type, and for content without a type")
    func registeredDecoder() throws {
        struct Refusing: ValueDecoder {
            func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value {
                throw CancellationError()
            }
        }
        var table = SerializerTable.standard
        table.register(Refusing(), as: "refusing", for: ["application/xml"])
        #expect(table.decoder(for: "a/b+xml") is Refusing)
        #expect(table.decoder(for: .json) is JSONValueDecoder)
        #expect(table.firstDecoder is JSONValueDecoder)
        table.register(Refusing(), as: "also refusing", for: [.json])
        #expect(table.decoder(for: .json) is Refusing && table.firstDecoder is Refusing)
    }

    @Test(
        "An encodable value is a JSON body; one that cannot be encoded fails the call before it is sent"
    )
    func bodies() async throws {
        let transport = MockTransport { _ in .status(201) }
        let client = Client(transport: transport, stack: [], serializers: .standard)
        try await client.post(anywhere, json: User(id: 1, name: "a/b")).empty()
        #expect(transport.sent.first?.body == Data(#"{"id":1,"name":"a/b"}"#.utf8))
        #expect(transport.sent.first?.request.headers[.contentType] == "application/json")
        let error = await #expect(throws: ClientError.self) {
            try await client.post(anywhere, json: Double.nan).empty()
        }
        #expect(error?.code == .serialization)
        #expect(transport.sentCount == 1)
    }

    @Test("Content of a type that the table does not know is shown by its beginning")
    func unknownType() async throws {
        let content = Data(repeating: 0x78, count: 5000)
        let error = await #expect(throws: ClientError.self) {
            try await call(type: "image/x", content, table: SerializerTable()).auto()
        }
        #expect(error?.code == .serialization && error?.responseBody == content.prefix(1024))
    }
}
