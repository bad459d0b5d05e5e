// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore

@testable import TurnpikeSerializers

@Suite("Link")
struct LinkTests {
    private func links(_ lines: String...) -> [String] {
        var headers = HTTPHeaders()
        for line in lines { headers.append("Link", line) }
        return headers.links.map { link in
            ([link.reference] + link.parameters.map { "\($0.name)=\($0.value)" })
                .joined(separator: " | ")
        }
    }

    @Test(
        "Links are read as RFC 8288, Appendix B.2 does",
        arguments: [
            ("<a>", ["a"]), ("<>; rel=self", [" | rel=self"]),
            ("<a>;rel=next,<b> ; REL = \"prev last\"", ["a | rel=next", "b | rel=prev last"]),
            ("<a,b;c>; title=\"x, <y>; z\"", ["a,b;c | title=x, <y>; z"]),
            ("<a>; title=\"q\\\"\\\\\"", ["a | title=q\"\\"]),
            ("<a>; title=\"open", ["a | title=open"]),
            (", ,<a>,, <b>", ["a", "b"]), ("<a>; flag; rel=x", ["a | flag= | rel=x"]),
            (
                "<a>; rel=1; rel=2; hreflang=de; hreflang=en",
                ["a | rel=1 | hreflang=de | hreflang=en"]
            ),
            ("<a> junk, <b>", ["a", "b"]), ("junk, <b>", []), ("<a", []), ("", []),
            ("<a>; title*=UTF-8'de'%c3%a4", ["a | title*=ä"]), ("<a>; title*=latin1''x", ["a"]),
            ("<a>; title*=UTF-8''%ff", ["a"]), ("<a>;;rel=x", ["a | rel=x"]),
        ])
    func reads(line: String, expected: [String]) {
        #expect(links(line) == expected)
    }

    @Test("Lines are read one after another")
    func lines() {
        #expect(links("<a>; rel=x", "<b>") == ["a | rel=x", "b"])
    }

    @Test("Relations are words without regard to case, each once")
    func relations() {
        let link = Link(reference: "a", parameters: [.init(name: "REL", value: "Next  next prev")])
        #expect(link.relations == ["next", "prev"])
        #expect(Link(reference: "a").relations.isEmpty)
    }

    @Test("The extended title goes before the plain one")
    func title() {
        let plain = Link.Parameter(name: "title", value: "a")
        #expect(Link(reference: "x", parameters: [plain]).title == "a")
        let both = [plain, Link.Parameter(name: "title*", value: "ä")]
        #expect(Link(reference: "x", parameters: both).title == "ä")
    }
}
