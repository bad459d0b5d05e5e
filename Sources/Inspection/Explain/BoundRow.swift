// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// One bound of the worst case, in words; what all forms of an explanation show.
struct BoundRow {
    /// What is bounded.
    let label: String
    /// The most of it.
    let value: String
    /// What bounds it.
    let reason: String

    /// The rows of an explanation, in the order in which they are shown.
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
    /// What is not computed for a stack of this length; nil if all is.
    var note: String? {
        switch extent {
        case .full: nil
        case .limits:
            "which gates bound it is not computed for more than \(Self.maxAttributed) gates"
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
        case .atMost: parts.isEmpty ? "no gate adds to it" : names
        case .unbounded: parts.isEmpty ? "no gate bounds it" : "because of \(names)"
        case .unknown:
            parts.isEmpty
                ? "several gates state no facts" : "because of \(names): no facts are stated"
        }
    }
}
