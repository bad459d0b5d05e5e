import TurnpikeCore

/// A text that is never printed, whoever dumps what holds it, and is the same as one of the same
/// bytes alone.
struct Secret: Sendable, Hashable {
    let value: String

    init(_ value: String) { self.value = value }

    static func == (left: Self, right: Self) -> Bool { Grammar.areSame(left.value, right.value) }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    var description: String { "REDACTED" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
