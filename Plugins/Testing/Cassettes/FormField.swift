import Foundation

/// One item of a query or a form, decoded.
struct FormField: Hashable, Sendable {
    let name: String
    let value: String

    /// The items of an encoded query or form, in order.
    static func parse(_ text: some StringProtocol) -> [FormField] {
        String(text).split(separator: "&").map { item in
            let equals = item.firstIndex(of: "=") ?? item.endIndex
            return FormField(
                name: decoded(item[..<equals]), value: decoded(item[equals...].dropFirst()))
        }
    }

    private static func decoded(_ text: Substring) -> String {
        let spaced = String(text.map { $0 == "+" ? " " : $0 })
        return spaced.removingPercentEncoding ?? spaced
    }
}

extension [FormField] {
    /// By name; those of one name stay in their order.
    var sortedByName: [FormField] {
        enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
            .map(\.element)
    }
}
