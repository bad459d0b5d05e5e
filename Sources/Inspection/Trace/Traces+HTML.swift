// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension [Trace] {
    /// Returns the traces as one HTML page with a waterfall for each call, on one time axis.
    ///
    /// The page is one file and needs no server. The page is light or dark, as the viewer prefers.
    /// The page can be used with the keyboard: arrows move and unfold, Enter opens the details of a
    /// span, Escape closes the details, Z zooms, 0 shows everything, and A aligns the starts of all
    /// calls.
    ///
    /// Texts from a peer are data on the page, never markup or code. A policy of the page forbids
    /// other scripts and all loading (Content Security Policy 3).
    /// - Parameters:
    ///   - title: The title of the page.
    ///   - source: The address from which the page loads newer traces each second (a list of the
    ///     JSON of ``Trace/json()``). If nil, the page does not change. The address is relative to
    ///     the address of the page. A server that sends an `ETag` may answer 304 while no trace has
    ///     changed.
    /// - Returns: The text of the file.
    public func html(title: String = "Traces", refreshing source: String? = nil) -> String {
        var data: JSONObject = ["title": .string(title)]
        data["source"] = source.map(JSONValue.string)
        data["traces"] = .array(map { $0.json() })
        return TracePage.document(title: title, data: .object(data), isLive: source != nil)
    }
}

enum TracePage {
    static func document(title: String, data: JSONValue, isLive: Bool) -> String {
        let body = """
            \(frame)
            <script type="application/json" id="data">\(embedded(data))</script>
            <script>\(script)</script>
            """
        return document(
            title: title, style: style, scripts: "script-src '\(hash(script))'; ",
            connections: isLive ? "'self'" : "'none'", body: body)
    }

    /// A page that loads no other file, and runs only the script that the policy of the page names.
    static func document(
        title: String, style: String, scripts: String = "", connections: String = "'none'",
        body: String
    ) -> String {
        let policy = [
            "default-src 'none'", "\(scripts)style-src '\(hash(style))'",
            "connect-src \(connections)", "base-uri 'none'", "form-action 'none'",
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
            \(body)
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

    /// JSON for a script element; no part of the JSON ends the element or begins another element
    /// (HTML, "Restrictions for contents of script elements").
    private static func embedded(_ data: JSONValue) -> String {
        // The replaced characters occur only inside JSON strings.
        data.description.replacing("<", with: "\\u003c").replacing(">", with: "\\u003e")
            .replacing("&", with: "\\u0026").replacing("\u{2028}", with: "\\u2028")
            .replacing("\u{2029}", with: "\\u2029")
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }

    private static func hash(_ text: String) -> String {
        "sha256-" + SHA256.digest(of: Data(text.utf8)).base64EncodedString()
    }

    private static let script: String = {
        let phases = TracePhases.Name.allCases.map { ($0.rawValue, JSONValue.string($0.color)) }
        return "\"use strict\";const PHASES=\(JSONValue.object(JSONObject(phases)));\n"
            + model + drawing + acting
    }()
}

extension TracePage {
    static let style = """
        :root{color-scheme:light dark;--page:#fff;--text:#1f2328;--dim:#59636e;--line:#d8dee4;
        --stripe:#f6f8fa;--focus:#0969da;--chosen:#ddf4ff;--badtext:\(TraceColors.badText.light);
        \(TraceColors.variables(TraceColors.light))}
        @media(prefers-color-scheme:dark){:root{--page:#0d1117;--text:#e6edf3;--dim:#9198a1;
        --line:#2a313c;--stripe:#151b23;--focus:#4493f8;--chosen:#12283f;
        --badtext:\(TraceColors.badText.dark);\(TraceColors.variables(TraceColors.dark))}}
        *{box-sizing:border-box}
        html,body{height:100%;margin:0}
        body{display:flex;flex-direction:column;background:var(--page);color:var(--text);
        font:13px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums}
        header{display:flex;flex-wrap:wrap;align-items:center;gap:6px 16px;padding:12px 16px 8px}
        h1{font-size:17px;margin:0}
        #summary{margin:0;color:var(--dim)}
        #tools{display:flex;flex-wrap:wrap;gap:6px;margin-left:auto}
        button,input{font:inherit;color:inherit;background:var(--page);border:1px solid var(--line);
        border-radius:6px;padding:3px 10px}
        button{cursor:pointer}
        button:hover{background:var(--stripe)}
        button[aria-pressed=true]{background:var(--chosen);border-color:var(--focus)}
        #legend{display:flex;flex-wrap:wrap;gap:4px 14px;width:100%;margin:0;padding:0;
        list-style:none;color:var(--dim);font-size:12px}
        #legend i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
        main{flex:1;min-height:0;display:flex;border-top:1px solid var(--line)}
        #grid{flex:1;min-width:0;overflow:auto;scrollbar-gutter:stable}
        .row{display:grid;grid-template-columns:minmax(11rem,28%) 7rem 5.2rem 5.2rem minmax(9rem,1fr);
        align-items:center;height:26px;column-gap:12px;padding:0 12px;cursor:default}
        .row:nth-child(even){background:var(--stripe)}
        .row.head{position:sticky;top:0;z-index:2;background:var(--page);color:var(--dim);
        border-bottom:1px solid var(--line);font-size:12px}
        .row[aria-level="1"]:not(.head){border-top:1px solid var(--line)}
        .row[aria-selected=true]{background:var(--chosen)}
        .row:focus{outline:2px solid var(--focus);outline-offset:-2px;border-radius:4px}
        .row>*{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
        .name{display:flex;align-items:center;min-width:0}
        .name span:last-child{overflow:hidden;text-overflow:ellipsis}
        .fold{flex:none;width:16px;color:var(--dim);text-align:center;font-size:10px;cursor:pointer}
        .row[aria-level="1"] .name{font-weight:600}
        .gate .name,.phase .name,.body .name{color:var(--dim)}
        .time{text-align:right}
        .own{text-align:right;color:var(--dim)}
        .outcome.failed,.bad{color:var(--badtext)}
        .outcome.failed::before{content:"✗ "}
        .bars{position:relative;height:100%;overflow:hidden!important}
        .bars>*{position:absolute;min-width:2px;border-radius:2px}
        .tick{top:0;bottom:0;width:1px;min-width:1px!important;background:var(--line);z-index:0}
        .label{top:5px;transform:translateX(-50%);font-size:11px;color:var(--dim)}
        .label.first{transform:none}
        .label.last{transform:translateX(-100%)}
        .bar{top:7px;height:12px;z-index:1}
        .bar.inside{top:12px;height:2px;opacity:.45}
        .bar.under{top:20px;height:2px}
        .bar.chunk{top:4px;height:2px;opacity:.8}
        .bar.open{border-radius:2px 0 0 2px;
        mask-image:linear-gradient(to right,#000 calc(100% - 14px),transparent)}
        \(classes)
        #details{flex:none;width:min(440px,50%);overflow:auto;padding:12px 16px;
        border-left:1px solid var(--line);overflow-wrap:anywhere}
        #details:focus{outline:2px solid var(--focus);outline-offset:-2px}
        #details h2{font-size:15px;margin:0 28px 8px 0}
        #details h3{font-size:12px;margin:14px 0 4px;color:var(--dim);font-weight:600}
        #details table{border-collapse:collapse;width:100%}
        #details th{text-align:left;font-weight:400;color:var(--dim);vertical-align:top;
        padding:1px 12px 1px 0;width:34%}
        #details td{padding:1px 0;vertical-align:top;font-family:ui-monospace,monospace;font-size:12px}
        #close{float:right;padding:0 8px}
        #tip{position:fixed;z-index:9;max-width:420px;padding:8px 10px;border-radius:6px;
        background:var(--page);border:1px solid var(--line);box-shadow:0 4px 16px rgb(0 0 0/.25);
        pointer-events:none;overflow-wrap:anywhere}
        #tip b{display:block;margin-bottom:2px}
        #tip div{display:flex;justify-content:space-between;gap:18px}
        #tip div span:first-child{color:var(--dim)}
        footer{padding:6px 16px;border-top:1px solid var(--line);color:var(--dim);font-size:12px}
        noscript{padding:16px}
        .empty{padding:32px 16px;color:var(--dim)}
        @media(max-width:760px){.row{grid-template-columns:minmax(8rem,40%) 4.6rem minmax(6rem,1fr)}
        .row>.outcome,.row>.own{display:none}footer{display:none}
        #details{position:fixed;inset:20% 0 0 0;width:auto;background:var(--page);z-index:5;
        border-left:0;border-top:2px solid var(--line)}}
        @media(forced-colors:active){.bar,#legend i{forced-color-adjust:none}}
        """

    // The class of a span or a phase defines the color.
    private static let classes = TraceColors.light.map { entry in
        ".bar.\(entry.name),#legend .\(entry.name){background:var(--\(entry.name))}"
    }.joined(separator: "\n")
}
