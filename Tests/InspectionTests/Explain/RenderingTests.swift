// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeCore
import TurnpikeInspection
import TurnpikeTesting

@Suite("Forms of an explanation")
struct RenderingTests {
    /// A gate whose name and summary are made to break out of each form.
    private struct Hostile: SynchronousRequestAdapter {
        var gateName: String { "A\"];--><script>&amp;\u{1B}[31m" }

        func facts(for request: Request?) -> GateFacts? {
            GateFacts(
                "says \"]--><b>\u{0}\u{7}</b>; and #quot; %% `x`",
                passedOver: "a \u{1B}[2J </text><image href=\"http://evil.example/\"/>")
        }

        func adapt(_ request: inout Request, context: Context) {}
    }

    private let hostile = Stack([Hostile(), Retry(attempts: 2)])
        .explain(Request(.get, "http://a.example/x?q=<b>"), on: MockTransport([]))

    @Test("The text of a small stack")
    func text() {
        let stack: Stack = [
            .deadline(.seconds(5)), .retry(attempts: 2, maxRetryAfter: .zero, maxKeptBytes: 0),
            SetHeaders(["X-Team": "blue"]),
        ]
        let text = stack.explain(Request(.get, anywhere), on: MockTransport([])).description
        #expect(
            text == """
                GET http://a.example/x  over MockTransport

                  1  Deadline    ends the call after 5 s
                  2  Retry       makes up to 2 attempts, and waits 1 s at most between them
                  3  SetHeaders  sets header fields
                                 for each attempt
                                 sets X-Team: blue

                At worst, one call
                  sends             2        Retry (2)
                  time to the end   5 s      Deadline (1)
                  time to the head  5 s      Deadline (1)
                  waits in all      1 s      Retry (2)
                  bytes in memory   100 MiB  the framework's 100 MiB of content in memory
                  bytes on disk     0 bytes  no gate adds to this
                """)
    }

    @Test("The JSON has figures in seconds and bytes, and names what has none")
    func json() {
        let stack: Stack = [.retry(attempts: 2, maxRetryAfter: .seconds(3), maxKeptBytes: 0)]
        let json = stack.explain(Request(.get, anywhere), on: MockTransport([])).json
        #expect(json["gates"]?[0]?["name"] == "Retry")
        #expect(json["gates"]?[0]?["runs"] == "once per call")
        #expect(json["worst"]?["sends"]?["limit"] == 2)
        #expect(json["worst"]?["sends"]?["by"] == ["1"])
        #expect(json["worst"]?["waiting"]?["limit"] == 3.0)
        #expect(json["worst"]?["time"]?["limit"] == "unbounded")
    }

    @Test("Nothing that a gate says breaks out of a form")
    func escaping() throws {
        for form in [hostile.description, hostile.mermaid, hostile.svg] {
            let controls = form.unicodeScalars.filter { $0.value < 0x20 && $0 != "\n" }
            #expect(controls.isEmpty)
        }
        #expect(!hostile.mermaid.contains("<script>"))
        // Only the quotes of the nodes themselves.
        for line in hostile.mermaid.split(separator: "\n") {
            #expect(line.count { $0 == "\"" } % 2 == 0)
            #expect(line.count { $0 == "\"" } <= 2)
        }
        #expect(!hostile.svg.contains("<script") && !hostile.svg.contains("<image"))
        #expect(!hostile.svg.contains("<b>"))
    }

    @Test("The SVG is well-formed, and names no outside resource")
    func svg() throws {
        let svg = hostile.svg
        let links = svg.components(separatedBy: "href=\"").count - 1
        #expect(links == 0 && !svg.contains("url(") && !svg.contains("@import"))
        var open: [Substring] = []
        for piece in svg.split(separator: "<").dropFirst(svg.hasPrefix("<") ? 0 : 1) {
            let tag = piece.prefix { $0 != ">" }
            let name = tag.prefix { $0 != " " && $0 != "/" }
            if tag.hasPrefix("/") {
                #expect(open.popLast() == tag.dropFirst())
            } else if !tag.hasSuffix("/") {
                open.append(name)
            }
        }
        #expect(open.isEmpty)
        #expect(svg.contains("prefers-color-scheme: dark"))
    }

    @Test("A chart leads from the call to the transport, and back to what repeats")
    func mermaid() {
        let stack: Stack = [.group([.retry(attempts: 3)])]
        let chart = stack.explain(Request(.get, anywhere), on: MockTransport([])).mermaid
        #expect(chart.hasPrefix("flowchart TD\n"))
        #expect(chart.contains("  g1 --> g1_1\n"))
        #expect(chart.contains("  transport -. 3 attempts .-> g1_1\n"))
    }
}
