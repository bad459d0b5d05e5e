// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore
import TurnpikeSupport

extension [Trace] {
    /// Returns the traces as one HTML page: every call as a waterfall, all on one axis of time.
    ///
    /// The page is one file that needs no other and works without a server. It is light or dark as
    /// its reader prefers. A keyboard is enough: arrows move and unfold, Enter opens what is known
    /// of a span, Escape closes it, Z zooms to it, 0 shows everything, and A aligns all calls at
    /// their beginnings.
    ///
    /// What a peer has sent is data on the page, never markup or code. A policy on the page lets no
    /// other script run, and nothing be loaded (Content Security Policy 3).
    /// - Parameters:
    ///   - title: The title of the page.
    ///   - source: Where the page asks each second for newer traces, as JSON of
    ///     ``TurnpikeCore/Trace/json()`` in a list; nil for a page that stays as it is. The address
    ///     is relative to that of the page. A server that sends an `ETag` may answer 304 while
    ///     nothing has changed.
    /// - Returns: The text of the file.
    public func html(title: String = "Traces", refreshing source: String? = nil) -> String {
        var data: JSONObject = ["title": .string(title)]
        data["source"] = source.map(JSONValue.string)
        data["traces"] = .array(map { $0.json() })
        return TracePage.document(title: title, data: .object(data), isLive: source != nil)
    }
}

/// The parts of the page.
enum TracePage {
    static func document(title: String, data: JSONValue, isLive: Bool) -> String {
        let policy = [
            "default-src 'none'", "script-src '\(hash(script))'", "style-src '\(hash(style))'",
            "connect-src \(isLive ? "'self'" : "'none'")", "base-uri 'none'", "form-action 'none'",
        ]
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy.joined(separator: "; "))">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="referrer" content="no-referrer">
            <title>\(escaped(title))</title>
            <style>\(style)</style>
            </head>
            <body>
            \(frame)
            <script type="application/json" id="data">\(embedded(data))</script>
            <script>\(script)</script>
            </body>
            </html>

            """
    }

    private static let frame = """
        <header>
        <h1 id="title"></h1>
        <p id="summary" role="status"></p>
        <div id="tools">
        <input id="filter" type="search" placeholder="Filter calls" aria-label="Filter calls">
        <button id="all" type="button" title="Show the whole time (0)">Whole time</button>
        <button id="zoom" type="button" title="Zoom to the span in focus (Z)">Zoom</button>
        <button id="align" type="button" aria-pressed="false"
          title="Let all calls begin at zero (A)">Align calls</button>
        <button id="unfold" type="button" title="Unfold or fold all calls (X)">Unfold</button>
        </div>
        <ul id="legend" aria-label="Colors"></ul>
        </header>
        <main>
        <div id="grid" role="treegrid" aria-label="Calls and their spans" aria-readonly="true"></div>
        <section id="details" aria-label="Details" tabindex="-1" hidden></section>
        </main>
        <footer>↑ ↓ move · → ← unfold, fold · Enter details · Esc close · Z zoom · 0 whole time · A \
        align · X unfold all</footer>
        <div id="tip" role="tooltip" hidden></div>
        <noscript>This page needs its own script to draw what it contains.</noscript>
        """

    /// JSON for a script element: nothing in it ends the element or begins another (HTML,
    /// "Restrictions for contents of script elements").
    private static func embedded(_ data: JSONValue) -> String {
        // Outside of strings, JSON has none of these characters.
        data.description.replacing("<", with: "\\u003c").replacing(">", with: "\\u003e")
            .replacing("&", with: "\\u0026").replacing("\u{2028}", with: "\\u2028")
            .replacing("\u{2029}", with: "\\u2029")
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }

    private static func hash(_ text: String) -> String {
        "sha256-" + SHA256.digest(of: Data(text.utf8)).base64EncodedString()
    }

    /// The script: what it needs to know of colors, then the code.
    private static let script: String = {
        let phases = TracePhases.Name.allCases.map { ($0.rawValue, JSONValue.string($0.color)) }
        return "\"use strict\";const PHASES=\(JSONValue.object(JSONObject(phases)));\n"
            + model + drawing + acting
    }()
}
