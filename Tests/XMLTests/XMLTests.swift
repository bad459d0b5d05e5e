import Foundation
import Synchronization
import Testing
import TurnpikeCore
import TurnpikeSerializers
import TurnpikeTesting
import TurnpikeXML

@Suite("XML")
struct XMLTests {
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
            "<?xml version=\"1.0\"?><!DOCTYPE feed><feed><!-- x --><atom:link href='a&amp;b'/>1 &lt; <b>2</b><![CDATA[<3>]]></feed>"
        ).xml()
        #expect(root.name == "feed" && root.text == "1 < 2<3>")
        #expect(root.first("link")?["href"] == "a&b" && root.children.count == 2)
        #expect(
            root.nodes == [
                .element(XMLTree("atom:link", attributes: ["href": "a&b"])), .text("1 < "),
                .element(XMLTree("b", nodes: [.text("2")])), .text("<3>"),
            ])
    }

    @Test("Events come in order, and an error of the closure ends them")
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
        "What is no XML, or would expand, read files or nest without end, is refused",
        arguments: [
            "", "x", "<a>", "<a></b>", "<a>&nope;</a>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
            "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>",
            "<!DOCTYPE a [ %x; ]><a/>", "<?xml version=\"1.0\" encoding=\"UTF-7\"?><a/>",
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

    // A search for the end of each would take hours.
    @Test(
        "Document types without an end are refused in time linear in them", .timeLimit(.minutes(1)))
    func endlessTypes() throws {
        let content = Data(String(repeating: "<!DOCTYPE", count: 500_000).utf8)
        #expect(throws: ClientError.self) { try XMLTree(parsing: content) }
        let quoted = "<a><![CDATA[<!DOCTYPE html><p>[1]</p><!DOCTYPE x>]]></a>"
        #expect(try XMLTree(parsing: Data(quoted.utf8)).text.hasSuffix("<!DOCTYPE x>"))
    }

    @Test("The number of nodes is bounded")
    func nodes() throws {
        let content = Data("<a>\(String(repeating: "<b c='1'/>", count: 10))</a>".utf8)
        #expect(throws: Never.self) {
            try XMLTree(parsing: content, limits: XMLLimits(depth: 2, nodes: 21))
        }
        #expect(throws: ClientError.self) {
            try XMLTree(parsing: content, limits: XMLLimits(depth: 2, nodes: 20))
        }
    }

    @Test("A table that has it gives it for XML")
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
