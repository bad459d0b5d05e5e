// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// The present state of a client, which shows why calls fail or wait.
///
/// Gates and transports state their own figures (``/TurnpikeCore/Gate/liveFigures(at:)``). The
/// state contains no secrets, as in traces. ``StatusSocket`` sends this state to `turnpike status`.
public struct ClientStatus: Sendable, Hashable, Codable {
    /// The client, a gate, or the transport.
    public struct Part: Sendable, Hashable, Codable {
        /// The place of a gate, such as `3` or `3.1`; empty for the client and the transport.
        public let place: String
        /// The name.
        public let name: String
        /// The configuration in words, or an empty text if unknown.
        public let summary: String
        /// The figures, at most 40, in the order of their names; figures with trouble come first.
        public let figures: [LiveFigure]

        init(_ place: String, _ name: String, _ summary: String?, _ figures: [LiveFigure]) {
            func shown(_ text: String) -> String {
                Grammar.beginning(of: Redaction.standard.text(text), upTo: 400)
            }
            let left = figures.count - 40
            self.place = place
            self.name = shown(name)
            self.summary = shown(summary ?? "") + (left > 0 ? " (\(left) lines left out)" : "")
            self.figures =
                figures.sorted {
                    $0.isTrouble == $1.isTrouble ? $0.name < $1.name : $0.isTrouble
                }.prefix(40).map {
                    LiveFigure(shown($0.name), shown($0.value), isTrouble: $0.isTrouble)
                }
        }
    }

    /// The time on the clock of the client.
    public let date: Date
    /// The client, the gates (outermost first), and the transport.
    public let parts: [Part]

    /// Reads the state of a client, without a request and without a delay of any call.
    public init(of client: Client) {
        let (now, calls, transport) = (client.timeSource.now, client.runningCalls, client.transport)
        let fault = client.fault.map { LiveFigure("fault", $0.message, isTrouble: true) }
        let oldest = calls.prefix(9).enumerated().map { LiveFigure("call \($0 + 1)", "\($1)") }
        date = client.timeSource.date
        parts =
            [
                Part(
                    "", "Client", client.baseURL.map { "for \($0)" },
                    [fault, LiveFigure("calls", "\(calls.count) under way")].compactMap(\.self)
                        + oldest)
            ] + Self.parts(client.stack.gates, in: "", at: now)
            + [Part("", String(describing: type(of: transport)), nil, transport.liveFigures)]
    }

    private static func parts(
        _ gates: [any Gate], in place: String, at now: MonotonicInstant
    ) -> [Part] {
        gates.enumerated().flatMap { number, gate in
            let own = place + "\(number + 1)"
            let summary = gate.facts(for: nil)?.summary
            let inner = (gate as? any GateGroup)?.gates ?? []
            return [Part(own, gate.gateName, summary, gate.liveFigures(at: now))]
                + parts(inner, in: own + ".", at: now)
        }
    }

    /// The reasons why calls may fail or wait now, with the names of the parts.
    public var troubles: [String] {
        parts.flatMap { part in
            part.figures.filter(\.isTrouble).map { "\(part.name): \($0.name): \($0.value)" }
        }
    }

    var time: String { date.formatted(.iso8601) }
}

extension ClientStatus: CustomStringConvertible {
    /// Text for a terminal, without control characters, with the troubles before the parts.
    public var description: String {
        let (places, names) = (parts.map(\.place.count), parts.map { min($0.name.count, 24) })
        let (place, name) = (places.max() ?? 0, names.max() ?? 0)
        let indent = String(repeating: " ", count: place + name + 4)
        var lines = [time] + (troubles.isEmpty ? ["no trouble"] : troubles.map { "! " + $0 })
        for part in parts {
            lines.append(
                "  \(part.place.padded(to: place))  \(part.name.padded(to: name))  \(part.summary)")
            lines += part.figures.map {
                "\($0.isTrouble ? "!" : " ") \(indent)\($0.name): \($0.value)"
            }
        }
        return lines.map { Grammar.escaped($0) }.joined(separator: "\n")
    }
}

extension [ClientStatus] {
    /// Returns the states as one HTML page in the style of the traces.
    ///
    /// The page runs no script and loads nothing. Texts from a peer are never markup.
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
