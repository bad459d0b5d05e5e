package import struct Foundation.Data
import Synchronization

/// The text that a `Decoder` reads, for the values in it that are to be kept as they stand.
///
/// A decoder of Foundation's has no way to give an integer beyond 64 bits, or to tell `1` from `1.0`.
/// It knows its place in the text, though: a ``JSONValue`` that finds a source in the decoder's
/// `userInfo` takes what stands there.
package final class JSONSource: Sendable {
    /// The key in `userInfo`.
    package static let key = CodingUserInfoKey(rawValue: "TurnpikeCore.JSONSource")

    private let content: Data
    // Read when the first value asks.
    private let root = Mutex<JSONValue??>(nil)

    /// Creates a source.
    package init(_ content: Data) { self.content = content }

    /// The value at a place, or nil where there is none.
    func value(at path: [any CodingKey]) -> JSONValue? {
        var value = root.withLock { root in
            if let root { return root }
            let parsed = try? JSONValue(parsing: content)
            root = .some(parsed)
            return parsed
        }
        for key in path {
            value =
                if case .array = value { key.intValue.flatMap { value?[$0] } } else {
                    value?[key.stringValue]
                }
        }
        return value
    }
}
