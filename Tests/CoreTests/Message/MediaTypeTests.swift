// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeCore

@Suite("MediaType")
struct MediaTypeTests {
    @Test("Parses type, subtype, parameters and weight")
    func parsing() throws {
        let type = try #require(MediaType(parsing: "Text/HTML; Charset=\"utf-8\"; q=0.5"))
        #expect(type.essence == "text/html")
        #expect(type[parameter: "charset"] == "utf-8")
        #expect(type.quality == 0.5)
        #expect(MediaType(parsing: "application/problem+json")?.suffix == "json")
    }

    @Test(
        "Type and subtype stand before and behind the slash, in lower case",
        arguments: [
            ("a type", "text/plain", ["text", "plain"]),
            ("any type", "*/*", ["*", "*"]),
            ("any type of a subtype", "*/json", ["*", "json"]),
            ("nothing", "", nil),
            // RFC 9110 §8.3.1.
            ("capitals", "TEXT/PLAIN", ["text", "plain"]),
        ] as [(String, String, [String]?)])
    func parts(id: String, text: String, expected: [String]?) {
        #expect(MediaType(parsing: text).map { [$0.type, $0.subtype] } == expected)
    }

    @Test(
        "A range contains a type",
        arguments: [
            ("itself", "text/plain", "text/plain", true),
            ("any subtype", "text/*", "text/plain", true),
            ("any type of the subtype", "*/json", "application/json", true),
            ("another subtype", "text/plain", "text/html", false),
            ("case does not count", "Text/Plain", "text/plain", true),
            ("a suffix is no subtype", "application/json", "application/vnd.api+json", false),
            ("a type contains no range", "text/plain", "text/*", false),
            ("parameters do not count", "text/plain;q=0.5", "text/plain", true),
            ("suffix", "application/*+json", "application/vnd.api+json", true),
            ("another suffix", "application/*+json", "application/vnd.api+xml", false),
            ("another type", "application/*+json", "image/x+json", false),
            ("any type", "*/*+json", "image/x+json", true),
            ("no suffix", "application/*+json", "application/json", false),
        ])
    func matching(id: String, acceptable: String, response: String, isAccepted: Bool) throws {
        let range = try #require(MediaType(parsing: acceptable))
        #expect(range.contains(try #require(MediaType(parsing: response))) == isAccepted)
    }

    @Test(
        "A text that is not a media type gives nil",
        arguments: ["", "text", "/", "a/", "/b", "a/b/c", "a b/c", "a/b c", ";q=1"])
    func nonsense(text: String) { #expect(MediaType(parsing: text) == nil) }

    @Test("Broken parameters are skipped, an open quote runs to the end")
    func brokenParameters() {
        #expect(MediaType(parsing: "application/json;charset")?.parameters == [])
        #expect(
            MediaType(parsing: "application/json; charset=\"utf-8")?[parameter: "charset"]
                == "utf-8")
        #expect(MediaType(parsing: "a/b; x=\"p;q\\\"r\"; y=2")?[parameter: "x"] == "p;q\"r")
        #expect(MediaType(parsing: "a/b; x=\"p;q\"; y=2")?[parameter: "y"] == "2")
    }

    @Test("Ranges contain types whatever their case and parameters")
    func ranges() throws {
        let json = try #require(MediaType(parsing: "APPLICATION/json; charset=utf-8"))
        #expect(MediaType.any.contains(json))
        #expect(MediaType("application", "*").contains(json))
        #expect(MediaType.json.contains(json))
        #expect(!MediaType("text", "*").contains(json))
        #expect(!json.contains(.any))
    }

    @Test("A list keeps its order and skips items that are not media ranges")
    func list() {
        let list = MediaType.list("text/html, nonsense, application/*;q=0.2,*/*;q=0")
        #expect(list.map(\.essence) == ["text/html", "application/*", "*/*"])
        #expect(list.map(\.quality) == [1, 0.2, 0])
    }

    @Test("A media type prints as in a field, with weights of at most three digits")
    func printing() {
        #expect(MediaType("a", "b", quality: 0.3999999).description == "a/b;q=0.4")
        #expect(MediaType("a", "b", quality: 0.05).description == "a/b;q=0.05")
        #expect(MediaType("a", "b", quality: 0).description == "a/b;q=0.0")
        #expect(MediaType("a", "b", quality: 0.9996).description == "a/b")
        #expect(MediaType("a", "b", quality: -1e300).description == "a/b;q=0.0")
        #expect(MediaType("a", "b", quality: .nan).description == "a/b")
        let quoted = MediaType("a", "b", parameters: [.init(name: "X", value: "p \"q\"")])
        #expect(quoted.description == #"a/b; x="p \"q\"""#)
        #expect(MediaType(parsing: quoted.description) == quoted)
        // A mark behind a quote does not keep it from being one.
        for value in ["p\"\u{301}; y=\"1", "\u{301}p", "\\\u{301}"] {
            let marked = MediaType("a", "b", parameters: [.init(name: "x", value: value)])
            #expect(MediaType(parsing: marked.description)?.parameters == marked.parameters)
        }
        #expect(MediaType(parsing: "a/b; x=\u{301}p")?[parameter: "x"] == "\u{301}p")
    }
}
