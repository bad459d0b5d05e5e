// SPDX-License-Identifier: Apache-2.0

/// What a rule says of a stack.
struct LintDraft: Sendable {
    let story: String
    /// The gates, outermost first, each once.
    private(set) var gates: [LintSubject.Entry]

    init(_ story: String, _ gates: LintSubject.Entry...) {
        self.init(story, of: gates)
    }

    init(_ story: String, of gates: [LintSubject.Entry]) {
        self.story = story
        self.gates = []
        add(gates)
    }

    private mutating func add(_ more: [LintSubject.Entry]) {
        for gate in more where !gates.contains(where: { $0.index == gate.index }) {
            gates.append(gate)
        }
        gates.sort { $0.index < $1.index }
    }

    /// The drafts of a rule, in which each story is told once of gates that it joins.
    static func merged(_ drafts: [LintDraft]) -> [LintDraft] {
        var merged: [LintDraft] = []
        var places: [String: [Int]] = [:]
        for draft in drafts {
            let same = places[draft.story]?.first { place in
                merged[place].gates.contains { gate in
                    draft.gates.contains { $0.index == gate.index }
                }
            }
            if let same {
                merged[same].add(draft.gates)
            } else {
                places[draft.story, default: []].append(merged.count)
                merged.append(draft)
            }
        }
        return merged
    }
}
