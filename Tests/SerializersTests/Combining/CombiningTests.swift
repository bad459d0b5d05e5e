import Foundation
import Testing
import TurnpikeCore
import TurnpikeSerializers
import TurnpikeTesting

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
        "Prefixes that guard JSON are taken away",
        arguments: [
            ("V357", ")]}',\n{}", "{}"), ("V358", "{}", "{}"), ("Angular", ")]}'\r\n[1]", "[1]"),
            ("comma", ")]}',[1]", "[1]"), ("loop", "while(1);[1]", "[1]"),
            ("for", "for(;;);{}", "{}"), ("text", ")]}' is text\nx", " is text\nx"),
        ])
    func xssi(id: String, content: String, expected: String) async throws {
        let text = StringSerializer().preprocessed(by: .removingXSSIPrefix)
        #expect(try await call(content).serialize(with: text) == expected)
    }

    @Test("A preprocessor's error is told with the head and the content")
    func preprocessorError() async throws {
        let failing = DataSerializer().preprocessed(by: ContentPreprocessor { _ in throw Thrown() })
        let error = await #expect(throws: ClientError.self) {
            try await call("abc").serialize(with: failing)
        }
        #expect(error?.code == .serialization && error?.underlying is Thrown)
        #expect(error?.response?.status == 200 && error?.responseBody == Data("abc".utf8))
    }

    @Test("Nothing is a value where the rule says so", arguments: ["V431", "V432", "V437"])
    func empty(id: String) async throws {
        let rule = EmptyContentRule.any.countingBlanks()
        let json = JSONSerializer().valueForEmpty(.null, where: rule)
        let list = PropertyListSerializer().map { Optional($0) }.valueForEmpty(nil)
        switch id {
        case "V431": #expect(try await call("").serialize(with: json) == .null)
        case "V432": #expect(try await call(" ").serialize(with: json) == .null)
        default: #expect(try await call(status: 204, "").serialize(with: list) == nil)
        }
        #expect(try await call(" [1]").serialize(with: json) == [1])
        await #expect(throws: ClientError.self) { try await call("").serialize(with: list) }
        let long = String(repeating: " ", count: 17)
        await #expect(throws: ClientError.self) { try await call(long).serialize(with: json) }
    }

    @Test("Statuses and methods of a rule count")
    func rule() async throws {
        let rule = EmptyContentRule(statuses: [200], methods: [])
        let text = StringSerializer().valueForEmpty("nothing", where: rule)
        #expect(try await call("").serialize(with: text) == "nothing")
        #expect(try await call(status: 204, "").serialize(with: text) == "")
    }

    @Test("The first serializer that yields a value wins", arguments: ["V440"])
    func firstFit(id: String) async throws {
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

    @Test(
        "Types that a JSON response may have", arguments: ["V427", "V429", "V430", "V433"])
    func responses(id: String) async throws {
        switch id {
        case "V433":
            await #expect(throws: ClientError.self) { try await call("{invalid}").json() }
        default:
            var table = SerializerTable()
            table.register(
                JSONSerializer(), as: "json", for: [.json, "text/json", "text/javascript"])
            let type = ["V427": "application/json", "V429": "text/javascript"][id]
            let call = call(type: type ?? "nonstandard/json", Data("[1]".utf8), table: table)
            if type == nil {
                await #expect(throws: ClientError.self) { try await call.auto() }
            } else {
                #expect(try await call.auto() as? JSONValue == [1])
            }
        }
    }

    @Test(
        "Text by its charset",
        arguments: [
            ("V318", [0xC3, 0xA9], nil, "é"),
            ("V319", [0xC3, 0xA9], "text/plain; charset=utf-8", "é"),
            ("V321", [0xE9], "text/plain; charset=iso-8859-1", "é"),
            ("V324", [0xC3, 0xA9], "application/json", "é"),
            ("V326", [0x61, 0, 0x62, 0], "text/plain; charset=utf-16le", "ab"),
            ("V327", [0xFF, 0xFE, 0x61, 0], "text/plain; charset=utf-16", "a"),
        ] as [(String, [UInt8], String?, String)])
    func charsets(id: String, bytes: [UInt8], type: String?, expected: String) async throws {
        #expect(try await call(type: type, Data(bytes)).string() == expected)
    }

    @Test("Bytes that are not valid in a given encoding are an error", arguments: ["V329"])
    func wrongEncoding(id: String) async throws {
        await #expect(throws: ClientError.self) {
            try await call(Data([0, 0, 0xFF, 0xFE, 0x72, 0, 0, 0])).string(encoding: .utf8)
        }
    }

    /// What a serializer makes of nothing.
    struct Nothing: CustomTestStringConvertible, Sendable {
        let id: String
        let serializer: String
        let method: HTTPMethod
        let status: HTTPStatus
        let isRight: Bool
        var testDescription: String { id }

        init(
            _ id: String, _ serializer: String, _ method: HTTPMethod, _ status: HTTPStatus,
            _ isRight: Bool
        ) {
            self.id = id
            self.serializer = serializer
            self.method = method
            self.status = status
            self.isRight = isRight
        }
    }

    @Test(
        "Nothing is a value only where a response never has content",
        arguments: [
            Nothing("V336", "string", .get, 200, false), Nothing("V337", "string", .get, 204, true),
            Nothing("V339", "string", .head, 200, true),
            Nothing("V340", "string", .get, 304, false),
            Nothing("V341", "string", .post, 201, false), Nothing("V343", "json", .get, 204, true),
            Nothing("V346", "json", .get, 304, false), Nothing("V347", "json", .post, 201, false),
            Nothing("V350", "empty", .get, 205, true), Nothing("V351", "empty", .head, 200, true),
            Nothing("V352", "empty", .get, 304, false), Nothing("V354", "user", .get, 204, false),
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
