// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension StackExplanation: CustomStringConvertible {
    /// The explanation as text for a terminal, without control characters.
    public var description: String {
        var lines = ["\(method) \(url)  over \(transport)"]
        if let fault { lines += ["The call fails before a gate sees it: \(fault)"] }
        lines.append("")
        let all = gates.flatMap(\.flattened)
        if all.isEmpty { lines.append("The stack has no gates.") }
        let placeWidth = all.map(\.place.count).max() ?? 0
        let nameWidth = min(all.map(\.name.count).max() ?? 0, 24)
        for gate in all {
            let head =
                "  " + gate.place.padded(to: placeWidth) + "  " + gate.name.padded(to: nameWidth)
                + "  "
            lines.append(head + gate.statement)
            let indent = String(repeating: " ", count: placeWidth + nameWidth + 6)
            lines += gate.details.map { indent + $0 }
        }
        lines += ["", "At worst, one call"]
        let rows = BoundRow.rows(of: self)
        let labelWidth = rows.map(\.label.count).max() ?? 0
        let valueWidth = rows.map(\.value.count).max() ?? 0
        lines += rows.map { row in
            "  " + row.label.padded(to: labelWidth) + "  " + row.value.padded(to: valueWidth)
                + "  " + row.reason
        }
        return lines.map { Grammar.escaped($0) }.joined(separator: "\n")
    }
}

extension GateExplanation {
    /// What the gate does, in one line.
    var statement: String {
        switch status {
        case .applies: summary ?? "applies its gates"
        case .passedOver(let reason): "passed over: \(reason)"
        case .skipped(let reason): "skipped: \(reason)"
        case .unknown: "unknown: it states no facts"
        }
    }

    /// What there is to say beside ``statement``.
    var details: [String] {
        var details: [String] = []
        if runs != .perCall { details.append(runs.rawValue) }
        if mayChange, !isCertain {
            details.append("a gate further out may change the request, and then it applies")
        }
        if isActive, !fields.isEmpty {
            let sets = fields.map { $0.value.isEmpty ? $0.name : "\($0.name): \($0.value)" }
            details.append("sets " + sets.joined(separator: ", "))
        }
        return details
    }

    private var isCertain: Bool {
        switch status {
        case .applies, .unknown: true
        case .passedOver, .skipped: false
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(width - count, 0))
    }
}
