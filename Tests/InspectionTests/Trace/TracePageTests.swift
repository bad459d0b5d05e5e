// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeSupport

@testable import TurnpikeInspection

#if canImport(FoundationXML)
import FoundationXML
#endif

@Suite("Traces as a page and as a picture")
struct TracePageTests {
    private func data(of page: String) throws -> String {
        let begin = try #require(page.range(of: "<script type=\"application/json\" id=\"data\">"))
        let rest = page[begin.upperBound...]
        return String(rest[..<(try #require(rest.range(of: "</script>")).lowerBound)])
    }

    @Test("The page holds the traces as JSON, and nothing of a peer outside of it")
    func data() throws {
        let page = SampleTraces.all.html(title: "A & <b>")
        let value = try JSONValue(parsing: Data(try data(of: page).utf8))
        #expect(value["traces"] == .array(SampleTraces.all.map { $0.json() }))
        #expect(value["title"] == "A & <b>" && value["source"] == nil)
        #expect(page.contains("<title>A &amp; &lt;b&gt;</title>"))
        // The one of the data and the one of the code, whatever a peer has sent.
        #expect(page.components(separatedBy: "<script").count == 3)
        #expect(page.components(separatedBy: "</script").count == 3)
        #expect(!page.contains("<img") && !page.contains("<!--"))
    }

    @Test("Its policy allows its own script and style alone, and nothing to be loaded")
    func policy() throws {
        let page = SampleTraces.all.html()
        func hash(_ tag: String) throws -> String {
            let begin = try #require(page.range(of: "<\(tag)>"))
            let end = try #require(page.range(of: "</\(tag)>", options: .backwards))
            let text = page[begin.upperBound..<end.lowerBound]
            return "'sha256-\(SHA256.digest(of: Data(text.utf8)).base64EncodedString())'"
        }
        #expect(page.contains("default-src 'none'; script-src \(try hash("script"));"))
        #expect(page.contains("style-src \(try hash("style")); connect-src 'none'"))
        let own = page.replacing(try data(of: page), with: "")
        for word in ["http:", "https:", " src=", " href=", "url(", "@import"] {
            #expect(!own.contains(word), "\(word)")
        }
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            #expect(!page.contains(word))
        }
    }

    @Test("A page that refreshes may ask its own server and nobody else")
    func live() throws {
        let page = [Trace]().html(refreshing: "traces.json")
        #expect(page.contains("connect-src 'self'"))
        #expect(try JSONValue(parsing: Data(try data(of: page).utf8))["source"] == "traces.json")
    }

    @Test("A picture is well-formed, and as large as its rows")
    func picture() throws {
        for trace in SampleTraces.all {
            let svg = trace.svg()
            #expect(XMLParser(data: Data(svg.utf8)).parse(), "\(svg)")
            #expect(!svg.contains("<script") && !svg.contains("<img"))
            // It is the same each time.
            #expect(trace.svg() == svg)
        }
        let svg = SampleTraces.retried().svg(width: 700)
        #expect(svg.contains("width=\"700\" height=\"232\""))
        #expect(svg.contains("<title>Where the time of GET /users/1 went: 312 ms</title>"))
        #expect(svg.contains(">back-off</text>") && svg.contains(">first byte</text>"))
    }

    /// Writes what a person or a browser looks at: `TURNPIKE_TRACES=folder`.
    @Test(
        "Writes the samples to files",
        .needs("TURNPIKE_TRACES", if: ProcessInfo.processInfo.environment["TURNPIKE_TRACES"] != nil)
    )
    func write() throws {
        let folder = URL(
            filePath: ProcessInfo.processInfo.environment["TURNPIKE_TRACES"] ?? "")
        let traces = SampleTraces.all
        try Data(traces.html().utf8).write(to: folder.appending(path: "samples.html"))
        try traces.har().data().write(to: folder.appending(path: "samples.har"))
        for trace in traces {
            try Data(trace.svg().utf8).write(to: folder.appending(path: "\(trace.id).svg"))
            print(trace.waterfall(width: 90))
        }
    }
}
