import Foundation
import TurnpikeCore
import TurnpikeSupport

/// A decoded item of a query or a form.
struct FormField: Hashable, Sendable {
    let name: String
    let value: String

    /// Parses the items of an encoded query or form, in order.
    static func parse(_ text: some StringProtocol) -> [FormField] {
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
    static func == (left: Self, right: Self) -> Bool {
        Grammar.areSame(left.name, right.name) && Grammar.areSame(left.value, right.value)
    }
}

extension [FormField] {
    /// Sorted by name; fields with equal names keep their order.
    var sortedByName: [FormField] {
        enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
            .map(\.element)
    }
}
