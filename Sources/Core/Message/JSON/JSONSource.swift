// SPDX-License-Identifier: Apache-2.0

package import struct Foundation.Data
import Synchronization

/// The JSON text that a `Decoder` reads, for values that must be kept exactly.
///
/// Foundation's decoder cannot return an integer beyond 64 bits, or distinguish `1` from `1.0`, but
/// it knows its coding path. A ``JSONValue`` that finds a source in the decoder's `userInfo` uses
/// the value at that path.
package final class JSONSource: Sendable {
    /// The key in `userInfo`.
    package static let key = CodingUserInfoKey(rawValue: "TurnpikeCore.JSONSource")

    private let content: Data
    // Parsed when the first value is requested.
    private let root = Mutex<JSONValue??>(nil)

    /// Creates a source.
    package init(_ content: Data) { self.content = content }

    /// Returns the value at a coding path, or nil if there is none.
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
