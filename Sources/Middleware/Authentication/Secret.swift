/// A text that is never printed, whoever dumps what holds it.
struct Secret: Sendable, Hashable {
    let value: String

    init(_ value: String) { self.value = value }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    var description: String { "REDACTED" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
