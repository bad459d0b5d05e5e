// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
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
    var statement: String {
        switch status {
        case .applies: summary ?? "applies its gates"
        case .passedOver(let reason): "passed over: \(reason)"
        case .skipped(let reason): "skipped: \(reason)"
        case .unknown: "unknown: the gate states no facts"
        }
    }

    var details: [String] {
        var details: [String] = []
        if runs != .perCall { details.append(runs.rawValue) }
        if mayChange, !isCertain {
            details.append("applies if a gate further out changes the request accordingly")
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
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(width - count, 0))
    }
}

struct BoundRow {
    let label: String
    let value: String
    let reason: String

    static func rows(of explanation: StackExplanation) -> [BoundRow] {
        let worst = explanation.worst
        func row<Value>(
            _ label: String, _ bound: StackBound<Value>, _ text: (Value) -> String
        ) -> BoundRow {
            BoundRow(
                label: label, value: bound.text(text), reason: explanation.reason(for: bound))
        }
        return [
            row("sends", worst.sends) { String($0) },
            row("time to the end", worst.time) { $0.text },
            row("time to the head", worst.head) { $0.text },
            row("waits in all", worst.waiting) { $0.text },
            row("bytes in memory", worst.memory) { ByteCount.text($0) },
            row("bytes on disk", worst.disk) { ByteCount.text($0) },
        ]
    }
}

extension StackBound {
    func text(_ text: (Value) -> String) -> String {
        switch limit {
        case .atMost(let value): text(value)
        case .unbounded: "UNBOUNDED"
        case .unknown: "unknown"
        }
    }
}

extension StackBounds {
    /// The parts that are not computed for a stack of this length, or nil.
    var note: String? {
        switch extent {
        case .full: nil
        case .limits:
            "for more than \(Self.maxAttributed) gates, the gates that bound this are not computed"
        case .nothing: "not computed for a stack of more than 1,000 gates"
        }
    }
}

extension StackExplanation {
    fileprivate func reason<Value>(for bound: StackBound<Value>) -> String {
        var parts = bound.places.map { place in
            "\(gate(at: place)?.name ?? "?") (\(place))"
        }
        if let framework = bound.framework { parts.append("the framework's \(framework)") }
        if let note = worst.note { return (parts + [note]).joined(separator: "; ") }
        let names = parts.joined(separator: ", ")
        return switch bound.limit {
        case .atMost: parts.isEmpty ? "no gate adds to this" : names
        case .unbounded: parts.isEmpty ? "no gate bounds this" : "because of \(names)"
        case .unknown:
            parts.isEmpty
                ? "several gates state no facts" : "because of \(names): no facts are stated"
        }
    }
}

extension StackExplanation {
    /// The explanation as JSON.
    ///
    /// Durations are in seconds, and sizes are in bytes. A limit is a number, `"unbounded"` or
    /// `"unknown"`. For a long stack, a note in `worst` names the parts that are not computed
    /// (`StackBounds.Extent`).
    public var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("method", .string(method)), ("url", .string(url)), ("transport", .string(transport)),
        ]
        if let fault { members.append(("fault", .string(fault))) }
        members.append(("gates", .array(gates.map(\.json))))
        members.append(("worst", worst.json))
        return .object(JSONObject(members))
    }
}

extension GateExplanation {
    fileprivate var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("place", .string(place)), ("name", .string(name)), ("runs", .string(runs.rawValue)),
        ]
        switch status {
        case .applies: members.append(("status", "applies"))
        case .passedOver(let reason):
            members += [("status", "passedOver"), ("reason", .string(reason))]
        case .skipped(let reason): members += [("status", "skipped"), ("reason", .string(reason))]
        case .unknown: members.append(("status", "unknown"))
        }
        if mayChange { members.append(("mayChange", true)) }
        if let summary { members.append(("summary", .string(summary))) }
        if !fields.isEmpty {
            let fields = fields.map { field -> JSONValue in
                ["name": .string(field.name), "value": .string(field.value)]
            }
            members.append(("fields", .array(fields)))
        }
        if !gates.isEmpty { members.append(("gates", .array(gates.map(\.json)))) }
        return .object(JSONObject(members))
    }
}

extension StackBounds {
    fileprivate var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("sends", sends.json { .number(JSONNumber(Int($0))) }),
            ("time", time.json(Self.seconds)), ("head", head.json(Self.seconds)),
            ("waiting", waiting.json(Self.seconds)),
            ("memory", memory.json { .number(JSONNumber(Int($0))) }),
            ("disk", disk.json { .number(JSONNumber(Int($0))) }),
        ]
        if let note { members.append(("note", .string(note))) }
        return .object(JSONObject(members))
    }

    private static func seconds(_ time: Duration) -> JSONValue {
        JSONNumber(time.inSeconds).map { .number($0) } ?? .null
    }
}

extension StackBound {
    fileprivate func json(_ json: (Value) -> JSONValue) -> JSONValue {
        let limit: JSONValue =
            switch self.limit {
            case .atMost(let value): json(value)
            case .unbounded: "unbounded"
            case .unknown: "unknown"
            }
        var members: [(String, JSONValue)] = [
            ("limit", limit), ("by", .array(places.map { .string($0) })),
        ]
        if let framework { members.append(("framework", .string(framework))) }
        return .object(JSONObject(members))
    }
}
