// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeXML

@testable import TurnpikeCore
@testable import TurnpikeTesting

@Suite("The cost of XML")
struct XMLCosts {
    private static let xml: [(name: String, make: Hostile.Maker)] = [
        ("elements", { Hostile.data("<a>", "<b/>", "</a>", $0) }),
        ("pairs of tags", { Hostile.data("<a>", "<b>x</b>", "</a>", $0) }),
        (
            "attributes of one element",
            { Data(("<a " + Hostile.numbered($0) { "a\($0)='' " } + "/>").utf8) }
        ),
        (
            "elements with many attributes",
            { size in
                let one = "<b " + (0..<900).map { "a\($0)=''" }.joined(separator: " ") + "/>"
                return Hostile.data("<a>", one, "</a>", size)
            }
        ),
        ("one attribute", { Hostile.data("<a b='", "&lt; \n", "'/>", $0) }),
        ("document types", { Hostile.data("<!DOCTYPE x>", $0) }),
        ("one document type", { Hostile.data("<!DOCTYPE x SYSTEM \"", ">", "\"><a/>", $0) }),
        ("document types without an end", { Hostile.data("<!DOCTYPE", $0) }),
        ("comments", { Hostile.data("<a>", "x<!-- -->", "</a>", $0) }),
        ("one comment", { Hostile.data("<a><!--", "- ", "--></a>", $0) }),
        ("comments without an end", { Hostile.data("<a>", "<!-- ", "", $0) }),
        ("instructions", { Hostile.data("<a>", "<?x ?>", "</a>", $0) }),
        ("CDATA", { Hostile.data("<a>", "<![CDATA[]]]>", "</a>", $0) }),
        ("one CDATA section", { Hostile.data("<a><![CDATA[", "]]", "]]></a>", $0) }),
        ("references", { Hostile.data("<a>", "&#x41;&amp;", "</a>", $0) }),
        ("one reference", { Hostile.data("<a>&#", "9", ";</a>", $0) }),
        ("an entity that is not defined", { Hostile.data("<a>&", "x", ";</a>", $0) }),
        ("a name", { Hostile.data("<", "é", "/>", $0) }),
        ("nesting without end", { Hostile.data("<a>", $0) }),
        ("line ends", { Hostile.data("<a>", "\r\n\r", "</a>", $0) }),
        ("a fault behind many lines", { Hostile.data("<a>", "\n", "&", $0) }),
        ("a declaration", { Hostile.data("<?xml version='1.0' ", "encoding = ", "?><a/>", $0) }),
    ]

    private static var rows: [Hostile] {
        let limits = XMLLimits(attributes: .max, allowsDocumentType: true)
        let parsed = xml.map { name, make in
            Hostile("XML, \(name)", size: 40_000, make: make) {
                _ = try XMLTree(parsing: $0, limits: limits)
            }
        }
        let redacted = xml.map { name, make in
            Hostile("XML redacted, \(name)", make: make) {
                _ = ExchangeRedactor(.standard)
                    .content($0, headers: ["Content-Type": "application/xml"])
            }
        }
        let deep = Hostile("the text of a deep tree", size: 40_000) { size in
            let open = String(repeating: "<a>", count: 190)
            let close = String(repeating: "</a>", count: 190)
            return try XMLTree(parsing: Hostile.data(open, "<b>x</b>", close, size))
        } read: {
            _ = $0.text
        }
        return parsed + redacted + [deep]
    }

    @Test("grows with its size, and not with the square", arguments: rows)
    func growth(row: Hostile) async throws { try await row.check() }
}
