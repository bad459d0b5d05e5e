// SPDX-License-Identifier: Apache-2.0

/// What gates of a stack file use together: its member `shared`.
///
/// It is made once for each file, before the gates, and kept over a reload as long as the file says
/// the same of it. A replaced one is released with the last call that uses it.
package protocol SharedPart: AnyObject, Sendable {
    /// Releases what the part holds.
    ///
    /// ``Client/shutdown(grace:)`` calls it after the gates have shut down.
    func shutdown() async
}

/// A part in the state that a reload keeps.
final class KeptPart: Sendable {
    let part: (any SharedPart)?

    init(_ part: (any SharedPart)?) { self.part = part }
}

/// What a file says of a part, with the texts of its references, to tell whether it has changed.
struct ResolvedPart: Hashable, Sendable, CustomReflectable {
    private let value: JSONValue

    init(_ value: JSONValue) { self.value = value }

    /// Shows nothing, because the texts may be secrets.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The member `shared` of a file, while the file is read.
final class Sharing {
    /// What the file says.
    let value: JSONValue?
    /// The names that it may use.
    let kinds: [String]
    /// The part; nil if there is none, or if it has a mistake.
    var part: (any SharedPart)?
    /// Whether a gate has asked for it.
    var isUsed = false

    init(_ value: JSONValue?, kinds: [String]) {
        self.value = value
        self.kinds = kinds
    }
}
