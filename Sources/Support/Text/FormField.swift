// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A decoded item of a query or a form.
public struct FormField: Hashable, Sendable {
    /// The name.
    public let name: String
    /// The value; empty if there is no equals sign.
    public let value: String

    /// Creates a field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Parses the items of an encoded query or form, in order.
    public static func parse(_ text: some StringProtocol) -> [FormField] {
        // Splits bytes, because a delimiter and a combining mark form one character.
        text.utf8.split(separator: UInt8(ascii: "&")).map { item in
            let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            return FormField(
                name: decoded(item[..<equals]), value: decoded(item[equals...].dropFirst()))
        }
    }

    private static func decoded(_ text: some Sequence<UInt8>) -> String {
        let spaced = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        let text = String(decoding: spaced, as: UTF8.self)
        return text.removingPercentEncoding ?? text
    }

    /// Whether names and values have the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        Grammar.areSame(left.name, right.name) && Grammar.areSame(left.value, right.value)
    }
}
