// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

/// Where parameters go, and what the request says of them.
struct PlacementVector: CustomTestStringConvertible, Sendable {
    let id: String
    let method: HTTPMethod
    let url: String
    var parameters: [String: String]? = ["a": "1"]
    var destination = ParameterDestination.byMethod
    var headers: HTTPHeaders = [:]
    let sentURL: String
    var body = ""
    var contentType: String?

    var testDescription: String { id }
}

private let form = "application/x-www-form-urlencoded; charset=utf-8"

private let placements: [PlacementVector] = [
    PlacementVector(
        id: "POST: the body", method: .post, url: "http://h/p", sentURL: "http://h/p", body: "a=1",
        contentType: form),
    PlacementVector(
        id: "PUT: the body", method: .put, url: "http://h/p", sentURL: "http://h/p", body: "a=1",
        contentType: form),
    PlacementVector(
        id: "behind a query that is there", method: .get, url: "http://h/p?x=%20y",
        sentURL: "http://h/p?x=%20y&a=1"),
    PlacementVector(
        id: "before the fragment", method: .get, url: "http://h/p#f", sentURL: "http://h/p?a=1#f"),
    PlacementVector(
        id: "behind a bare host", method: .get, url: "http://h", sentURL: "http://h?a=1"),
    PlacementVector(
        id: "GET: the body by wish", method: .get, url: "http://h/p", destination: .body,
        sentURL: "http://h/p",
        body: "a=1", contentType: form),
    PlacementVector(
        id: "the caller's content type stays", method: .post, url: "http://h/p",
        parameters: ["property": "property"],
        headers: ["Content-Type": "type"], sentURL: "http://h/p", body: "property=property",
        contentType: "type"),
    PlacementVector(
        id: "no parameters add no question mark", method: .get, url: "http://h/p", parameters: [:],
        destination: .query,
        sentURL: "http://h/p"),
    PlacementVector(
        id: "behind a question mark", method: .get, url: "http://h/p?", sentURL: "http://h/p?a=1"),
    PlacementVector(
        id: "brackets of the query are escaped", method: .get,
        url: "https://example.com/movies?hd=[1]",
        parameters: ["page": "0"], sentURL: "https://example.com/movies?hd=%5B1%5D&page=0"),
    PlacementVector(
        id: "plus signs are escaped", method: .get, url: "https://example.com/movie?hd=[1]",
        parameters: ["+foo+": "+bar+"],
        sentURL: "https://example.com/movie?hd=%5B1%5D&%2Bfoo%2B=%2Bbar%2B"),
    PlacementVector(
        id: "behind an item", method: .get, url: "http://h/p?baz=qux", parameters: ["foo": "bar"],
        sentURL: "http://h/p?baz=qux&foo=bar"),
    PlacementVector(
        id: "POST: an empty form is a form", method: .post, url: "http://h/p", parameters: [:],
        sentURL: "http://h/p",
        body: "", contentType: form),
    PlacementVector(
        id: "POST: no parameters are no form", method: .post, url: "http://h/p", parameters: nil,
        sentURL: "http://h/p"),
    PlacementVector(
        id: "no parameters leave a bare host", method: .get, url: "http://example.com",
        parameters: [:],
        sentURL: "http://example.com"),
    PlacementVector(
        id: "DELETE", method: .delete, url: "http://h/p", sentURL: "http://h/p?a=1"),
]

private let queries: [FormVector] = [
    FormVector(
        "an ampersand in a value", ["key": "value", "key1": "value&"], "key=value&key1=value%26"),
    FormVector(
        "reserved characters", ["key": " :#[]@!$&'()*+,;=/?"],
        "key=%20%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D/?"),
    FormVector(
        "escapes are escaped again", ["key": "%20%21%22%23%24%25%26%27%28%29%2A%2B%2C%2F"],
        "key=%2520%2521%2522%2523%2524%2525%2526%2527%2528%2529%252A%252B%252C%252F"),
    FormVector(
        "emoji as bytes of UTF-8", ["test": "!" + String(repeating: "👴🏿👷🏻👮🏽", count: 5)],
        "test=%21"
            + String(
                repeating: "%F0%9F%91%B4%F0%9F%8F%BF%F0%9F%91%B7%F0%9F%8F%BB"
                    + "%F0%9F%91%AE%F0%9F%8F%BD", count: 5)),
]

@Suite("Parameters")
struct ParameterTests {
    private func sent(_ describe: (Client) -> Call) async throws -> (request: Request, body: Data) {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport, stack: [], serializers: .standard)
        try await describe(client).empty()
        let sent = try #require(transport.sent.first)
        return (sent.request, sent.body)
    }

    @Test("Parameters are placed by method and option", arguments: placements)
    func placement(vector: PlacementVector) async throws {
        let sent = try await sent { client in
            client.request(
                vector.method, Target(vector.url), parameters: vector.parameters,
                in: vector.destination, headers: vector.headers)
        }
        #expect(sent.request.url.absoluteString == vector.sentURL)
        #expect(String(decoding: sent.body, as: UTF8.self) == vector.body)
        #expect(sent.request.headers[.contentType] == vector.contentType)
    }

    @Test("Values are escaped as in a query", arguments: queries)
    func escapes(vector: FormVector) throws { #expect(try vector.encode() == vector.expected) }

    @Test("The form's type can omit the charset")
    func bareType() async throws {
        var encoder = FormEncoder()
        encoder.statesCharset = false
        let bare = encoder
        let sent = try await sent { $0.post(anywhere, form: ["key": "value"], encoder: bare) }
        #expect(sent.request.headers[.contentType] == "application/x-www-form-urlencoded")
        #expect(sent.body == Data("key=value".utf8))
    }

    @Test("A custom query is sent unchanged")
    func ownQuery() async throws {
        let sent = try await sent { $0.get("http://h/p?key**value") }
        #expect(sent.request.url.query() == "key**value")
    }

    @Test("A slash after a relative path stays")
    func trailingSlash() async throws {
        let client = Client(
            baseURL: "http://example.com/v1/", transport: MockTransport { _ in .ok() }, stack: [],
            serializers: .standard)
        #expect(client.get("foo/").request.url.absoluteString == "http://example.com/v1/foo/")
    }

    @Test("An empty name is a name, not the root")
    func emptyName() throws {
        let value: [String: [String: [String: Int]]] = ["": ["a": ["": 1]]]
        #expect(try FormEncoder().encode(value) == "%5Ba%5D%5B%5D=1")
        #expect(try FormEncoder().encode(["": 1]) == "=1")
    }

    @Test("A dictionary whose keys are not strings keeps each value with its key")
    func keyedByNumbers() throws {
        var encoder = FormEncoder()
        encoder.arrays = .repeated
        let value: [String: [Double: String]] = ["m": [2.5: "a", 1.5: "z", 3.5: "1"]]
        #expect(try encoder.encode(value) == "m=1.5&m=z&m=2.5&m=a&m=3.5&m=1")
    }

    @Test("Pairs keep their order, and a name may stand alone")
    func pairs() async throws {
        let fields = Query([.init("b", "1 2"), .init("a", nil), .init("b", "&")])
        let sent = try await sent { $0.post(anywhere, body: .form(fields)) }
        #expect(sent.body == Data("b=1%202&a&b=%26".utf8))
    }

    @Test("A value that cannot be encoded fails the call before anything is sent")
    func fails() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport, stack: [], serializers: .standard)
        await expectError(.serialization) {
            try await client.get(anywhere, parameters: [1, 2]).data()
        }
        #expect(transport.sentCount == 0)
    }

    private struct Opaque: Encodable, Sendable {
        func encode(to encoder: any Encoder) throws {
            throw EncodingError.invalidValue(
                self, .init(codingPath: [], debugDescription: "not representable"))
        }
    }

    @Test(
        "A JSON body has its type, unless the caller names one",
        arguments: [([:], "application/json"), (["Content-Type": "type"], "type")]
            as [(HTTPHeaders, String)])
    func jsonType(headers: HTTPHeaders, type: String) async throws {
        let sent = try await sent {
            $0.post(anywhere, json: ["property": "property"], headers: headers)
        }
        #expect(sent.body == Data(#"{"property":"property"}"#.utf8))
        #expect(sent.request.headers[.contentType] == type)
    }

    @Test("An array is a JSON body, and nil sets no body")
    func json() async throws {
        let list = try await sent { $0.post(anywhere, json: ["foo", "bar", "baz"]) }
        #expect(list.body == Data(#"["foo","bar","baz"]"#.utf8))
        let nothing = try await sent { $0.post(anywhere) }
        #expect(nothing.body.isEmpty && nothing.request.headers[.contentType] == nil)
        await expectError(.serialization) {
            _ = try await sent { $0.post(anywhere, json: ["key": Opaque()]) }
        }
    }

    @Test(
        "Property list bodies",
        arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func propertyList(format: PropertyListSerialization.PropertyListFormat) async throws {
        let value: PropertyListValue = .dictionary(["a": .array([.integer(1), .bool(true)])])
        let body = try RequestBody.propertyList(value, format: format)
        let sent = try await sent { $0.post(anywhere, body: body) }
        #expect(sent.request.headers[.contentType] == "application/x-plist")
        #expect(try PropertyListValue(parsing: sent.body) == value)
        #expect(sent.body.starts(with: Data("bplist".utf8)) == (format == .binary))
    }

    @Test("The keys of a property list must be strings")
    func propertyListKeys() async throws {
        let untyped: [AnyHashable: Any] = [42: "value"]
        let error = #expect(throws: ClientError.self) { try PropertyListValue(untyped: untyped) }
        #expect(error?.code == .serialization)
        expectError(.serialization) { try PropertyListValue(untyped: ["a": [untyped]]) }
        let known: [String: Any] = ["a": [1, true, 0.5, "x"] as [Any], "b": Data([1])]
        #expect(
            try PropertyListValue(untyped: known)
                == .dictionary([
                    "a": .array([.integer(1), .bool(true), .real(0.5), .string("x")]),
                    "b": .data(Data([1])),
                ]))
        // What is encoded has names of its own: Swift's encoders make text of a number.
        let sent = try await sent { $0.request(.post, anywhere, propertyList: [42: "value"]) }
        #expect(try PropertyListValue(parsing: sent.body) == .dictionary(["42": .string("value")]))
        expectError(.serialization) {
            try RequestBody.propertyList(encoding: ["a": Opaque()])
        }
    }

    @Test("JSON is written by the call's encoder", arguments: [HTTPMethod.post, .put, .patch])
    func jsonEncoder(method: HTTPMethod) async throws {
        struct Item: Encodable { let theName = "a/b", at = Date(timeIntervalSince1970: 1) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .secondsSince1970
        let (request, body) = try await sent { client in
            switch method {
            case .post: client.post(anywhere, json: Item(), encoder: encoder)
            case .put: client.put(anywhere, json: Item(), encoder: encoder)
            default: client.patch(anywhere, json: Item(), encoder: encoder)
            }
        }
        let text = "{\n  \"at\" : 1,\n  \"the_name\" : \"a\\/b\"\n}"
        #expect(String(decoding: body, as: UTF8.self) == text && request.method == method)
        #expect(request.headers[.contentType] == "application/json")
        let plain = try await sent { $0.request(method, anywhere, json: Item()) }.body
        #expect(plain == Data(#"{"at":"1970-01-01T00:00:01Z","theName":"a/b"}"#.utf8))
    }
}
