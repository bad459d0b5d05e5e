// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension [ClientStatus] {
    /// Returns the states as one HTML page in the look of the traces.
    ///
    /// It runs no script and loads nothing. Texts of others are text on it, never markup.
    /// - Parameter title: The title of the page.
    /// - Returns: The text of the file.
    public func html(title: String = "Status") -> String {
        func element(_ tag: String, _ text: String) -> String {
            "<\(tag)>\(TracePage.escaped(Grammar.escaped(text)))</\(tag.prefix { $0 != " " })>"
        }
        var body = "<header>\(element("h1", title))</header>\n<main><div id=grid>\n"
        for status in self {
            let troubles = status.troubles.map { element("li class=bad", $0) }
            body += element("h2", status.time)
            body += "<ul>\(troubles.isEmpty ? "<li>no trouble" : troubles.joined())</ul>\n<table>\n"
            for part in status.parts {
                body += "<tr class=part>" + element("td", part.place)
                body += element("th scope=row", part.name) + element("td colspan=2", part.summary)
                for figure in part.figures {
                    body += "\n<tr\(figure.isTrouble ? " class=bad" : "")><td><td>"
                    body += element("td", figure.name) + element("td", figure.value)
                }
            }
            body += "</table>\n"
        }
        let style = """
            #grid{padding:0 16px 16px}h2{font-size:13px}ul{margin:0 0 12px;padding-left:18px}
            table{border-collapse:collapse;width:100%}tr.part{border-top:1px solid var(--line)}
            th,td{text-align:left;vertical-align:top;padding:3px 12px 3px 0;overflow-wrap:anywhere}
            tr.part td{color:var(--dim)}
            """
        return TracePage.document(
            title: title, style: TracePage.style + style, body: body + "</div></main>")
    }
}
