// SPDX-License-Identifier: Apache-2.0

/// A reply of a Valkey or Redis server, for assertions.
package enum RawReply: Hashable, Sendable {
    case null
    case text(String)
    case integer(Int)
    case list([RawReply])
    case error(String)

    /// The text of a text.
    package var text: String? { if case .text(let text) = self { text } else { nil } }
    /// The number, if the reply is one or the text of one.
    package var integer: Int? {
        switch self {
        case .integer(let integer): integer
        case .text(let text): Int(text)
        default: nil
        }
    }
    /// The elements of a list.
    package var list: [RawReply]? { if case .list(let list) = self { list } else { nil } }
    /// The message of an error.
    package var error: String? { if case .error(let error) = self { error } else { nil } }
}
