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
        let text = StringSerializer().removingXSSIPrefix()
        #expect(try await call(content).serialize(with: text) == expected)
    }

    @Test("A preprocessor's error has the head and the content")
    func preprocessorError() async throws {
        let failing = DataSerializer().preprocessed { _ in throw Thrown() }
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
}
