// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TurnpikeTesting
import TurnpikeXML

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSerializers

@Suite("XML")
struct XMLTests {
    private final class Count: Sendable {
        private let count = Atomic(0)
        func next() -> Int { count.add(1, ordering: .relaxed).newValue }
    }

    private static let blanks = String(repeating: " ", count: 5000)

    private func call(_ content: String) -> Call {
        let transport = MockTransport { _ in
            .status(200, headers: ["Content-Type": "application/xml"], body: Data(content.utf8))
        }
        return Client(transport: transport, stack: [], serializers: .standard)
            .get("http://a.example/")
    }

    @Test("A document is its root element, text and elements in order")
    func document() async throws {
        let root = try await call(
            "<?xml version=\"1.0\"?><feed><!-- x --><atom:link href='a&amp;b'/>1 &lt; <b>2</b><![CDATA[<3>]]></feed>"
        ).xml()
        #expect(root.name == "feed" && root.text == "1 < 2<3>")
        #expect(root.first("link")?["href"] == "a&b" && root.children.count == 2)
        #expect(
            root.nodes == [
                .element(XMLTree("atom:link", attributes: ["href": "a&b"])), .text("1 < "),
                .element(XMLTree("b", nodes: [.text("2")])), .text("<3>"),
            ])
    }

    @Test("Events arrive in order, and an error of the closure ends them")
    func events() async throws {
        let seen = Mutex<[XMLEvent]>([])
        try await call("<a x='1'>t<b/></a>").xmlEvents { event in seen.withLock { $0.append(event) }
        }
        #expect(
            seen.withLock { $0 } == [
                .begin(name: "a", attributes: ["x": "1"]), .text("t"),
                .begin(name: "b", attributes: [:]), .end(name: "b"), .end(name: "a"),
            ])
        struct Enough: Error {}
        let error = await #expect(throws: ClientError.self) {
            try await call("<a/>").xmlEvents { _ in throw Enough() }
        }
        #expect(error?.underlying is Enough)
    }

    @Test(
        "Content that is not XML, or would expand, read files or nest without end, is refused",
        arguments: [
            "", "x", "<a>", "<a></b>", "<a>&nope;</a>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
            "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>",
            "<!DOCTYPE a [ %x; ]><a/>", "<!DOCTYPE a><a/>",
            "<?xml version=\"1.0\" encoding=\"UTF-7\"?><a/>",
            "<?xml version=\"1.0\" encoding=\"utf-16\"?><a/>",
            "<?xml version=\"1.0\"\(blanks)encoding=\"UTF-7\"?>+ADw-a/+AD4-",
            String(repeating: "<a>", count: 100_000),
            String(repeating: "<a>", count: 201) + String(repeating: "</a>", count: 201),
        ])
    func refused(content: String) async throws {
        let error = await #expect(throws: ClientError.self) { try await call(content).xml() }
        #expect(error?.code == .serialization && error?.response?.status == 200)
        // UTF-16, and EBCDIC, whose marks are other bytes.
        let marks: [[UInt8]] = [[0xFF, 0xFE, 0x3C, 0, 0x61, 0], [0x4C, 0x6F, 0xA7, 0x94, 0x93]]
        for start in marks {
            let error = #expect(throws: ClientError.self) { try XMLTree(parsing: Data(start)) }
            #expect(error?.code == .serialization)
        }
        let invalid = Data([0x3C, 0xFF, 0x2F, 0x3E, 0x3C])
        #expect(throws: ClientError.self) { try XMLTree(parsing: invalid) }
        let latin = Data("<?xml version='1.0' encoding='iso-8859-1'?><".utf8) + [0xFF, 0x2F, 0x3E]
        #expect(try XMLTree(parsing: latin).name == "ÿ")
    }

    @Test("A document type is refused, or skipped if a setting says so")
    func documentType() throws {
        var limits = XMLLimits()
        let types = [
            "<!DOCTYPE a>", "<!DOCTYPE a >", "<!DOCTYPE a SYSTEM 'file:///etc/passwd'>",
            "<!DOCTYPE a PUBLIC \"-//W3C//DTD XHTML 1.0//EN\"\n\"a>b\" >",
            "<!DOCTYPE a PUBLIC \"aZ09-'()+,./:=?;!*#@$_%\r\n\" '[\u{E9}\t'>",
        ]
        for type in types {
            let content = Data("<?xml version='1.0'?>\n<!-- x -->\(type)<a>1</a>".utf8)
            let error = #expect(throws: ClientError.self) {
                try XMLTree(parsing: content, limits: limits)
            }
            #expect(error?.message.contains("has a document type") == true)
            limits.allowsDocumentType = true
            #expect(try XMLTree(parsing: content, limits: limits).text == "1")
            limits.allowsDocumentType = false
        }
        limits.allowsDocumentType = true
        let wrong = [
            "<!DOCTYPE a [<!ATTLIST a b CDATA 'c'>]>",
            "<!DOCTYPE a SYSTEM \">\" [<!ENTITY b 'c'>]>",
            "<!DOCTYPE a SYSTEM '>' []>", "<!DOCTYPE a><!DOCTYPE a>", "<!DOCTYPE>", "<!DOCTYPE a",
            "<!DOCTYPE a PUBLIC \"x\">", "<!DOCTYPE a SYSTEM \"x>", "<!doctype a>",
            "<!DOCTYPE a b>",
            // What may stand in a public identifier (§2.3).
            "<!DOCTYPE a PUBLIC \"[\" 'x'>", "<!DOCTYPE a PUBLIC \"\u{2028}\" 'x'>",
            "<!DOCTYPE a PUBLIC \"-//x'><a>1<\" 'y'>", "<!DOCTYPE a PUBLIC 'x\ty' 'z'>",
            "<!ENTITY b 'c'>",
        ]
        for type in wrong {
            #expect(throws: ClientError.self) {
                try XMLTree(parsing: Data("\(type)<a/>".utf8), limits: limits)
            }
        }
        #expect(throws: ClientError.self) {
            try XMLTree(parsing: Data("<a/><!DOCTYPE a>".utf8), limits: limits)
        }
        let quoted = "<a><![CDATA[<!DOCTYPE html><p>[1]</p><!DOCTYPE x>]]></a>"
        #expect(try XMLTree(parsing: Data(quoted.utf8)).text.hasSuffix("<!DOCTYPE x>"))
    }

    @Test(
        "Everything that the standard allows in a document is read",
        arguments: [
            ("<a b = 'x\ty\r\nz' c=\"'&quot;&#10;&lt;\"/>", ["b": "x y z", "c": "'\"\n<"], ""),
            ("<a>1\r\n2\r3<![CDATA[\r\n&amp;]]></a>", [:], "1\n2\n3\n&amp;"),
            ("<a>&#x41;&#66;&amp;lt;&apos;&gt;&#x1F600;</a>", [:], "AB&lt;'>😀"),
            ("<a><?php echo '?' ?>1<!-- - -->2<?x?></a><!-- --><?y z?>\n", [:], "12"),
            ("<a>]] ]&gt; ></a>", [:], "]] ]> >"),
            ("<é:ü.-1 ñ·='ß'>ö</é:ü.-1>", ["ñ·": "ß"], "ö"),
            ("\u{FEFF}<a>\u{1F600}\u{FFFD}\u{85}</a>", [:], "\u{1F600}\u{FFFD}\u{85}"),
            ("<?xml version='1.1' encoding='utf-8' standalone=\"no\" ?><a/>", [:], ""),
            ("<?xml\tversion\n=\r'1.10'\r\nstandalone = 'yes'?><a/>", [:], ""),
            // Names by the fifth edition, which the fourth did not have.
            ("<\u{20AC} \u{FFFD}='1'/>", ["\u{FFFD}": "1"], ""),
            ("<a\u{FEFF} \u{10000}=''/>", ["\u{10000}": ""], ""),
            // Of version 1.1, too, what 1.0 takes.
            ("<?xml version='1.1'?><a>\u{7F}\u{80}\u{85}</a>", [:], "\u{7F}\u{80}\u{85}"),
            ("<a>]<![CDATA[]]>]><![CDATA[]]]]>]</a>", [:], "]]>]]]"),
            ("<a>1<!--&x;<b>--><?y &z; ?><![CDATA[]]>2</a>", [:], "12"),
        ] as [(String, [String: String], String)])
    func wellFormed(content: String, attributes: [String: String], text: String) throws {
        let root = try XMLTree(parsing: Data(content.utf8))
        #expect(root.attributes == attributes)
        #expect(Array(root.text.unicodeScalars) == Array(text.unicodeScalars))
    }

    @Test(
        "A document that is not well-formed is refused with its position",
        arguments: [
            "<a>\n<b></a>", "<a>\n</b>", "<a>\n", "\n", "<a/>\nx", "<a/>\n<b/>", "x\n<a/>",
            "</a>\n",
            "<a>\n&nope;</a>", "<a>\n&lt</a>", "<a>\n&#0;</a>", "<a>\n&#xD800;</a>", "<a>\n&#;</a>",
            "<a>\n&#xFFFE;</a>", "<a>\n&#x110000;</a>", "<a>\n&#99999999999999999999;</a>",
            "<a>\n&#1F;</a>", "<a>\n&</a>", "<a>\n]]></a>", "<a>\n<![CDATA[</a>", "<a>\n<!-- </a>",
            "<a>\n<!-- -- --></a>", "<a>\n<!-- ---></a>", "<a>\n<?xml version='1.0'?></a>",
            "\n<?xml version='1.0'?><a/>", "<a>\n<?x</a>", "<a>\n<?1 ?></a>", "<a>\n<?x+?></a>",
            "<a\n b></a>", "<a\n b=c></a>", "<a\n b='<'></a>", "<a\n b='1' b='2'/>",
            "<a\n b='1'c='2'/>",
            "<a\n b='1></a>", "<a\n b='&x;'/>", "<a\n", "<a\n/", "<\na/>", "<1\n/>", "<-a\n/>",
            "<×\n/>",
            "<a>\n\u{1}</a>", "<a>\n\u{FFFE}</a>", "<a>\n\u{0}</a>", "<![CDATA[\n]]><a/>",
            "<a>\n<!ELEMENT a ANY></a>", "<?xml\n?><a/>", "<?xml version='2.0'\n?><a/>",
            "<?xml version='1'?>\n<a/>", "<?xml version='1.'?>\n<a/>",
            "<?xml version='1.0\"?>\n<a/>", "<?xml version='1.x'?>\n<a/>",
            "<?xml encoding='utf-8'?>\n<a/>", "<?xml version='1.0'encoding='utf-8'?>\n<a/>",
            "<?xml version='1.0' standalone='yes' encoding='utf-8'?>\n<a/>",
            "<?xml version='1.0' standalone='YES'?>\n<a/>", "<?xml version='1.0' ?\n><a/>",
            "<?xml version='1.0'\u{85}encoding='utf-8'?>\n<a/>",
            "<?xml version='1.0'\u{2028}standalone='yes'?>\n<a/>",
            "<?xml \u{301}version='1.0'?>\n<a/>", "<?xml version='1.0' x='y'?>\n<a/>",
            "<?xml version='1.0' version='1.0'?>\n<a/>", "<a>\n<b/></a></b>", "<a/>\n&#32;",
            "<a/>\n<![CDATA[]]>", "<a b='\n&#60'/>", "<a b='1'\n/ >", "<a\n xmlns:b='c'b:d='e'/>",
            "<a>\n&#x 41;</a>", "<a>\n& amp;</a>", "<a>\n&amp ;</a>", "<a>\n&#X41;</a>",
            "<a>\n<! -- x --></a>", "<a>\n<! [CDATA[x]]></a>", "<a>\n<![cdata[x]]></a>",
            "<a>\n</ a>", "<a>\n</a b='c'>", "<a>\n</a/>", "<a>\n<?X\u{D7} ?></a>",
        ])
    func malformed(content: String) throws {
        let error = #expect(throws: ClientError.self) { try XMLTree(parsing: Data(content.utf8)) }
        #expect(error?.code == .serialization)
        #expect(error?.message.contains(/: line [12], column \d+$/) == true)
    }

    @Test("An instruction whose name begins like the declaration is skipped, however long")
    func stylesheet() throws {
        let reference = String(repeating: "x", count: 300)
        let content = "<?xml-stylesheet href='\(reference)' encoding='nope'?><a>1</a>"
        #expect(try XMLTree(parsing: Data(content.utf8)).text == "1")
    }

    @Test("Two names that only look the same are different")
    func canonicalEquivalence() throws {
        #expect(throws: ClientError.self) {
            try XMLTree(parsing: Data("<a e\u{301}='1' \u{E9}='2'/>".utf8))
        }
        #expect(throws: ClientError.self) {
            try XMLTree(parsing: Data("<e\u{301}></\u{E9}>".utf8))
        }
    }

    @Test(
        "The encoding is from the byte order mark, the Content-Type or the declaration, in order"
    )
    func encodings() async throws {
        let declared = "<?xml version='1.0' encoding='%'?><a>\u{E9}</a>"
        func content(_ name: String, _ encoding: String.Encoding) throws -> Data {
            try #require(
                declared.replacingOccurrences(of: "%", with: name).data(using: encoding))
        }
        func text(_ content: Data, type: String = "text/xml") async throws -> String {
            let transport = MockTransport { _ in
                .status(200, headers: ["Content-Type": type], body: content)
            }
            let client = Client(transport: transport, stack: [], serializers: .standard)
            return try await client.get("http://a.example/").xml().text
        }
        let latin = try content("iso-8859-1", .isoLatin1)
        let wide = try content("utf-16", .utf16LittleEndian)
        #expect(try await text(latin) == "\u{E9}")
        #expect(
            try await text(content("utf-8", .isoLatin1), type: "text/xml; charset=latin1")
                == "\u{E9}")
        #expect(
            try await text(Data([0xFF, 0xFE]) + wide, type: "text/xml; charset=latin1") == "\u{E9}")
        await #expect(throws: ClientError.self) {
            try await text(latin, type: "text/xml; charset=utf-8")
        }
        await #expect(throws: ClientError.self) { try await text(wide) }
        await #expect(throws: ClientError.self) { try await text(content("nope", .utf8)) }
    }

    @Test("Attributes and produced bytes are bounded")
    func bounds() throws {
        let attributes = (0..<11).map { " a\($0)='1'" }.joined()
        let content = Data("<a\(attributes)>\(String(repeating: "x", count: 100))</a>".utf8)
        // Names at both ends, eleven attributes, text.
        let size = 1 + 10 * 2 + 3 + 11 + 100 + 1
        var limits = XMLLimits(attributes: 11, bytes: size)
        #expect(throws: Never.self) { try XMLTree(parsing: content, limits: limits) }
        limits.bytes -= 1
        let long = #expect(throws: ClientError.self) {
            try XMLTree(parsing: content, limits: limits)
        }
        #expect(long?.message.contains("produces more than") == true)
        limits = XMLLimits(attributes: 10)
        let error = #expect(throws: ClientError.self) {
            try XMLTree(parsing: content, limits: limits)
        }
        #expect(error?.message.contains("more than 10 attributes") == true)
    }

    @Test("A cancellation and a deadline end the parsing of complete content")
    func endsBetweenPieces() async throws {
        let content = "<a>" + String(repeating: "<b>x</b>", count: 100_000) + "</a>"
        let count = Count()
        let reading = Task { [self] in
            try await call(content).xmlEvents { _ in
                _ = count.next()
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            }
        }
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(count.next() < 100_000)

        let clock = ManualClock()
        let transport = MockTransport { _ in .status(200, body: Data(content.utf8)) }
        let client = Client(
            transport: transport, stack: [.deadline(.seconds(5))], serializers: .standard,
            timeSource: clock)
        let begun = count.next()
        let error = await #expect(throws: ClientError.self) {
            try await client.get("http://a.example/").xmlEvents { _ in
                if count.next() == begun + 1 { clock.advance(by: .seconds(6)) }
            }
        }
        #expect(error?.code == .deadlineExceeded)
        #expect(count.next() < begun + 100_000)
    }

    @Test("The number of nodes is bounded")
    func nodes() throws {
        let content = Data("<a>\(String(repeating: "<b c='1'/>", count: 10))</a>".utf8)
        #expect(throws: Never.self) {
            try XMLTree(parsing: content, limits: XMLLimits(depth: 2, nodes: 21))
        }
        let error = #expect(throws: ClientError.self) {
            try XMLTree(parsing: content, limits: XMLLimits(depth: 2, nodes: 20))
        }
        #expect(error?.message.contains("more than 20 elements") == true)
    }

    @Test("A table with the serializer uses it for XML")
    func table() async throws {
        var table = SerializerTable()
        table.register(XMLSerializer(), as: "xml", for: XMLSerializer.mediaTypes)
        let transport = MockTransport { _ in
            .status(200, headers: ["Content-Type": "image/svg+xml"], body: Data("<svg/>".utf8))
        }
        let client = Client(transport: transport, stack: [], serializers: table)
        let value = try await client.get("http://a.example/").auto()
        #expect(value as? XMLTree == XMLTree("svg"))
    }
}
