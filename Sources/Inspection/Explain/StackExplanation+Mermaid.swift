// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension StackExplanation {
    /// The explanation as a flowchart in Mermaid, for Markdown that shows such charts.
    ///
    /// An edge back to a gate says that the gate sends what is inside of it again.
    public var mermaid: String {
        var chart = MermaidChart()
        chart.node("call", "\(method) \(url)", shape: ("([", "])"))
        chart.gates(gates)
        chart.node("transport", transport, shape: ("[[", "]]"))
        let rows = BoundRow.rows(of: self).map { "\($0.label): \($0.value) – \($0.reason)" }
        chart.lines.append(
            "  worst[/\"" + rows.map(MermaidChart.escaped).joined(separator: "<br>") + "\"/]")
        chart.lines.append("  transport -.- worst")
        return chart.lines.joined(separator: "\n") + "\n"
    }
}

private struct MermaidChart {
    var lines = ["flowchart TD"]
    private var last: String?
    private var repeating: [(node: String, label: String)] = []

    mutating func node(
        _ id: String, _ text: String, shape: (String, String) = ("[", "]"), style: String = ""
    ) {
        lines.append("  \(id)\(shape.0)\"\(Self.escaped(text))\"\(shape.1)\(style)")
        if let last { lines.append("  \(last) --> \(id)") }
        if id == "transport" {
            for (node, label) in repeating { lines.append("  \(id) -. \(label) .-> \(node)") }
        }
        last = id
    }

    mutating func gates(_ gates: [GateExplanation]) {
        for gate in gates {
            let id = "g" + gate.place.replacing(".", with: "_")
            let details = [gate.statement] + gate.details
            let text = "\(gate.place) \(gate.name)\n" + details.joined(separator: "\n")
            let isFaint = !gate.isActive
            node(id, text, shape: isFaint ? ("(", ")") : ("[", "]"))
            if isFaint { lines.append("  style \(id) stroke-dasharray: 4 4") }
            if gate.isActive, let label = gate.repeats {
                repeating.append((id, label))
            }
            self.gates(gate.gates)
        }
    }

    // A quote would end the text of a node, and a tag or an entity would be one.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "<br>"
            case "\"", "#", "&", "<", ">", "`", ";": result += "#\(scalar.value);"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension GateExplanation {
    /// How a gate sends again what is inside of it: `up to 3 attempts`; nil if it does not.
    var repeats: String? {
        var labels: [String] = []
        for effect in effects {
            switch effect {
            case .retries(let attempts, _, _) where attempts != 1:
                labels.append(attempts.map { "\($0) attempts" } ?? "attempts without a bound")
            case .hedges(let copies, _) where copies > 0:
                labels.append("\(min(copies, .max - 1) + 1) copies")
            case .redirects(let hops) where hops > 0: labels.append("\(hops) redirects")
            case .replays(let times) where times > 0:
                labels.append(times == 1 ? "1 replay" : "\(times) replays")
            default: break
            }
        }
        return labels.isEmpty ? nil : labels.joined(separator: ", ")
    }
}
