// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore
@testable import TurnpikeSerializers

/// A value with the options that it is encoded with, and what must come of it.
struct FormVector: CustomTestStringConvertible, Sendable {
    let id: String
    let value: any Encodable & Sendable
    let expected: String
    let options: @Sendable (inout FormEncoder) -> Void

    init(
        _ id: String, _ value: any Encodable & Sendable, _ expected: String,
        _ options: @escaping @Sendable (inout FormEncoder) -> Void = { _ in }
    ) {
        self.id = id
        self.value = value
        self.expected = expected
        self.options = options
    }

    var testDescription: String { "\(id): \(expected)" }

    func encode() throws -> String {
        var encoder = FormEncoder()
        options(&encoder)
        return try encoder.encode(value)
    }
}

private struct Record: Encodable, Sendable {
    let one = "one"
    let two = 2
    let three = true
    let four = [1, 2, 3]
    let five = ["a": "a"]
    let six = ["a": ["b": "b"]]
    let seven = ["a": "a"]
}

private struct Mixed: Encodable, Sendable {
    let b = 1
    let a = 2
    let c = [3, 1, 2]
}

private struct Optionals: Encodable, Sendable {
    let one: String? = "one"
    let two: Int?
    let three: String?

    init() {
        two = nil
        three = nil
    }
}

private struct Nested: Encodable, Sendable {
    private enum Keys: CodingKey { case root, a, string }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var root = container.nestedUnkeyedContainer(forKey: .root)
        try root.encode([1, 2, 3])
        var object = root.nestedContainer(keyedBy: Keys.self)
        var inner = object.nestedContainer(keyedBy: Keys.self, forKey: .a)
        try inner.encode("string", forKey: .string)
        var last = root.nestedUnkeyedContainer()
        try last.encode([1, 2, 3])
    }
}

private struct User: Encodable, Sendable {
    struct Address: Encodable, Sendable { let zip = "0001" }
    let name = "Ann B"
    let tags = ["x", "y"]
    let addr = Address()
}

private let moment = Date(timeIntervalSinceReferenceDate: 123.456)

private let formats: [FormVector] = [
    FormVector("a text", ["a": "a"], "a=a"),
    FormVector("a decimal as it is written", ["a": Decimal(string: "1.123456")], "a=1.123456"),
    FormVector("a small integer", ["a": Int8(1)], "a=1"),
    FormVector("a large integer", ["a": Int64(1)], "a=1"),
    FormVector("an unsigned integer", ["a": UInt(1)], "a=1"),
    FormVector("a byte", ["a": UInt8(1)], "a=1"),
    FormVector("an unsigned integer of 32 bits", ["a": UInt32(1)], "a=1"),
    FormVector("an unsigned integer of 64 bits", ["a": UInt64(1)], "a=1"),
    FormVector("a nested name in brackets", ["a": ["b": "b"]], "a%5Bb%5D=b"),
    FormVector("brackets by option", ["a": ["b": "b"]], "a%5Bb%5D=b") { $0.keyPaths = .brackets },
    FormVector("a nested name behind a dot", ["a": ["b": "b"]], "a.b=b") { $0.keyPaths = .dots },
    FormVector("a nested name by a closure", ["a": ["b": "b"]], "a-b=b") {
        $0.keyPaths = .custom { "-" + $0 }
    },
    FormVector(
        "fields sorted by name", Record(),
        "five%5Ba%5D=a&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&one=one&seven%5Ba%5D=a"
            + "&six%5Ba%5D%5Bb%5D=b&three=1&two=2"),
    FormVector(
        "fields in the order of the type", Record(),
        "one=one&two=2&three=1&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&five%5Ba%5D=a"
            + "&six%5Ba%5D%5Bb%5D=b&seven%5Ba%5D=a"
    ) { $0.sortsFields = false },
    FormVector(
        "nested containers, indexed", Nested(),
        "root%5B0%5D%5B0%5D=1&root%5B0%5D%5B1%5D=2&root%5B0%5D%5B2%5D=3"
            + "&root%5B1%5D%5Ba%5D%5Bstring%5D=string"
            + "&root%5B2%5D%5B0%5D%5B0%5D=1&root%5B2%5D%5B0%5D%5B1%5D=2&root%5B2%5D%5B0%5D%5B2%5D=3"
    ) { $0.arrays = .indexed },
    FormVector(
        "nested containers in brackets", Nested(),
        "root%5B%5D%5B%5D%5B%5D=1&root%5B%5D%5B%5D%5B%5D=2&root%5B%5D%5B%5D%5B%5D=3"
            + "&root%5B%5D%5B%5D=1&root%5B%5D%5B%5D=2&root%5B%5D%5B%5D=3"
            + "&root%5B%5D%5Ba%5D%5Bstring%5D=string"
    ) { $0.arrays = .brackets },
    FormVector("the name again for each element", ["array": [1, 2]], "array=1&array=2") {
        $0.arrays = .repeated
    },
    FormVector("a boolean as a word", ["bool": true], "bool=true") {
        $0.usesWordsForBooleans = true
    },
    FormVector("data in Base64", ["data": Data("data".utf8)], "data=ZGF0YQ%3D%3D"),
    FormVector("a date since 2001", ["date": moment], "date=123.456"),
    FormVector("a date since 1970", ["date": moment], "date=978307323.456") {
        $0.dates = .secondsSince1970
    },
    FormVector("a date in milliseconds", ["date": moment], "date=978307323456.0") {
        $0.dates = .millisecondsSince1970
    },
    FormVector("a date of ISO 8601", ["date": moment], "date=2001-01-01T00%3A02%3A03Z") {
        $0.dates = .iso8601
    },
    FormVector("a date by a closure", ["date": moment], "date=2001-01-01%2000%3A02%3A03.4560") {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.calendar = Calendar(identifier: .gregorian)
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss.SSSS"
        $0.dates = .custom { formatter.string(from: $0) }
    },
    FormVector("a capital in front", ["oneTwoThree": "oneTwoThree"], "OneTwoThree=oneTwoThree") {
        $0.keys = .capitalized
    },
    FormVector("lower case", ["oneTwoThree": "oneTwoThree"], "onetwothree=oneTwoThree") {
        $0.keys = .lowercased
    },
    FormVector("a name by a closure", ["oneTwoThree": "oneTwoThree"], "A=oneTwoThree") {
        $0.keys = .custom { _ in "A" }
    },
    FormVector("nil as a word", Optionals(), "one=one&three=null&two=null") { $0.nils = .null },
    FormVector("question marks stay", ["?foo?": "?bar?"], "?foo?=?bar?"),
    FormVector("spaces are escaped", [" foo ": " bar "], "%20foo%20=%20bar%20"),
    FormVector("plus signs are escaped", ["+foo+": "+bar+"], "%2Bfoo%2B=%2Bbar%2B"),
    FormVector("percent signs are escaped again", ["percent%": "%25"], "percent%25=%2525"),
    FormVector(
        "dots through a nested type", ["user": User()],
        "user.addr.zip=0001&user.name=Ann%20B&user.tags%5B%5D=x&user.tags%5B%5D=y"
    ) { $0.keyPaths = .dots },
    FormVector(
        "a list below two names", ["a": ["b": ["c": [1, 2]]]], "a%5Bb%5D%5Bc%5D=1&a%5Bb%5D%5Bc%5D=2"
    ) {
        $0.arrays = .repeated
    },
    FormVector("an empty list", ["a": [String]()], ""),
    FormVector("an empty dictionary", ["a": [String: String]()], ""),
    FormVector("nothing at all", [String: String](), ""),
    FormVector(
        "fields are sorted, lists are not", Mixed(), "a=2&b=1&c%5B%5D=3&c%5B%5D=1&c%5B%5D=2"),
    FormVector("a list keeps its order", ["a": [10, 9, 2]], "a%5B%5D=10&a%5B%5D=9&a%5B%5D=2"),
    FormVector("nothing is sorted", Mixed(), "b=1&a=2&c%5B%5D=3&c%5B%5D=1&c%5B%5D=2") {
        $0.sortsFields = false
    },
    FormVector(
        "nil in a list, without a value", ["b": [1, nil, 3]], "b%5B%5D=1&b%5B%5D=&b%5B%5D=3"
    ) { $0.nils = .dropValue },
    FormVector("snake case of an acronym", ["HTTPServer": 1], "h_ttp_server=1") {
        $0.keys = .snakeCase
    },
    FormVector("snake case of capitals", ["ABC": 1], "a_bc=1") { $0.keys = .snakeCase },
    FormVector("snake case of capitals at the end", ["aBC": 1], "a_bc=1") { $0.keys = .snakeCase },
    FormVector("snake case beyond ASCII", ["éÀb": 1], "%C3%A9_%C3%A0b=1") { $0.keys = .snakeCase },
    FormVector("unreserved characters stay", ["a": "-._~"], "a=-._~"),
    FormVector("separators are escaped", ["a=b": "c=d&e"], "a%3Db=c%3Dd%26e"),
    FormVector("an empty name", ["": "v"], "=v"),
    FormVector(
        "a UUID", ["uuid": UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")],
        "uuid=E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
    FormVector("a URL", ["u": URL(string: "https://h/p?q=1")], "u=https%3A//h/p?q%3D1"),
    FormVector("integers as names", [1: "a", 2: "b"], "1=a&2=b"),
]

private let untyped: [FormVector] = [
    FormVector(
        "JSON: a list", ["foo": ["a", 1, true]] as JSONValue, "foo%5B%5D=a&foo%5B%5D=1&foo%5B%5D=1"),
    FormVector(
        "JSON: the name again for each element", ["foo": ["a", 1, true]] as JSONValue,
        "foo=a&foo=1&foo=1"
    ) {
        $0.arrays = .repeated
    },
    FormVector(
        "JSON: a list below two names", ["foo": ["bar": ["baz": ["a", 1, true]]]] as JSONValue,
        "foo%5Bbar%5D%5Bbaz%5D%5B%5D=a&foo%5Bbar%5D%5Bbaz%5D%5B%5D=1&foo%5Bbar%5D%5Bbaz%5D%5B%5D=1"
    ),
    FormVector("JSON: an integer", ["foo": 25] as JSONValue, "foo=25"),
    FormVector("JSON: a fraction", ["foo": 1.1] as JSONValue, "foo=1.1"),
    FormVector(
        "JSON: numbers are no booleans",
        ["a": 1, "b": 0, "c": 1.0, "d": 0.0, "i": true, "j": false] as JSONValue,
        "a=1&b=0&c=1&d=0&i=true&j=false"
    ) { $0.usesWordsForBooleans = true },
]

private let beyond: [FormVector] = [
    FormVector(
        "order of ten", ["a": Array(0..<11)],
        (0..<11).map { "a%5B\($0)%5D=\($0)" }.joined(separator: "&")
    ) {
        $0.arrays = .indexed
    },
    FormVector("custom array", ["a": ["x", "y"]], "a_0=x&a_1=y") {
        $0.arrays = .custom { "\($0)_\($1)" }
    },
    FormVector("kebab", ["oneTwoThree": 1], "one-two-three=1") { $0.keys = .kebabCase },
    FormVector("snake with digits", ["a1Bc2D": 1], "a1_bc2_d=1") { $0.keys = .snakeCase },
    FormVector("upper", ["aB": 1], "AB=1") { $0.keys = .uppercased },
    FormVector("plus", [" a ": "b c+"], "+a+=b+c%2B") { $0.usesPlusForSpaces = true },
    FormVector("fewer characters", ["?": "/"], "%3F=%2F") { $0.unescaped = "-._~" },
    FormVector("never unescaped", ["a&": "=+"], "a%26=%3D%2B") { $0.unescaped = "&=+" },
    FormVector("data as numbers", ["d": Data([1, 2])], "d%5B%5D=1&d%5B%5D=2") {
        $0.data = .deferred
    },
    FormVector("nil is left out", Optionals(), "one=one"),
    FormVector("nil without a value", Optionals(), "one=one&three=&two=") { $0.nils = .dropValue },
    FormVector("nil by a closure", Optionals(), "one=one&three=-&two=-") {
        $0.nils = .custom { "-" }
    },
    FormVector("a set", ["s": Set([3, 1, 2])], "s=1&s=2&s=3") { $0.arrays = .repeated },
    FormVector(
        "a dictionary without sorting", ["c": 1, "a": 2, "b": 3, "e": 4, "d": 5],
        "a=2&b=3&c=1&d=5&e=4"
    ) { $0.sortsFields = false },
    FormVector("large integers", ["a": UInt64.max], "a=18446744073709551615"),
]

@Suite("Form encoder")
struct FormVectorTests {
    @Test("The encoder follows its options", arguments: formats)
    func encodes(vector: FormVector) throws { #expect(try vector.encode() == vector.expected) }

    @Test("The encoder encodes JSON values of every kind", arguments: untyped)
    func untypedValues(vector: FormVector) throws {
        #expect(try vector.encode() == vector.expected)
    }

    @Test("The encoder keeps the other promises of its options", arguments: beyond)
    func more(vector: FormVector) throws { #expect(try vector.encode() == vector.expected) }

    private struct Thrown: Error {}

    @Test("A value without named members is refused")
    func root() {
        expectError(.serialization) { try FormEncoder().encode("string") }
        expectError(.serialization) { try FormEncoder().encode([1]) }
    }

    @Test("An error of a closure is thrown")
    func closures() {
        var encoder = FormEncoder()
        encoder.data = .custom { _ in throw Thrown() }
        encoder.dates = .custom { _ in throw Thrown() }
        #expect(throws: Thrown.self) { try encoder.encode(["data": Data("data".utf8)]) }
        #expect(throws: Thrown.self) { try encoder.encode(["date": moment]) }
    }
}
