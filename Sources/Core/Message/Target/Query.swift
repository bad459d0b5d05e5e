// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Query items in the order in which they are appended to a URL.
///
/// ```swift
/// let page = try await client.get("search", query: ["q": "swift", "tags": ["a", "b"]]).string()
/// ```
///
/// Names and values are percent-encoded as UTF-8, and a blank becomes `%20`. A list becomes one
/// item for each value (`tags=a&tags=b`). Serializers encode other styles.
public struct Query: Sendable, Hashable {
    /// A name and a value; an item without a value consists only of the name.
    public struct Item: Sendable, Hashable {
        /// The name before encoding.
        public var name: String
        /// The value before encoding, or nil.
        public var value: String?

        /// Creates an item.
        public init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// A value or a list of values, which can be a literal.
    public struct Value: Sendable, Hashable {
        let texts: [String?]
    }

    /// The items in order.
    public var items: [Item]

    /// Creates a query of items in order.
    public init(_ items: [Item]) { self.items = items }

    /// The encoded query without a question mark.
    public var encoded: String {
        items.map { item in
            let name = PercentEncoding.queryItem.encode(item.name)
            return item.value.map { name + "=" + PercentEncoding.queryItem.encode($0) } ?? name
        }.joined(separator: "&")
    }
}

extension Query: ExpressibleByDictionaryLiteral {
    /// Creates a query; a list of values becomes several items with the same name.
    public init(dictionaryLiteral elements: (String, Value)...) {
        items = elements.flatMap { name, value in value.texts.map { Item(name, $0) } }
    }
}

extension Query.Value: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral,
    ExpressibleByArrayLiteral
{
    /// Creates a value from text.
    public init(_ text: String) { texts = [text] }
    /// Creates a value from text.
    public init(stringLiteral value: String) { self.init(value) }
    /// Creates a value from an integer.
    public init(integerLiteral value: Int) { self.init(String(value)) }
    /// Creates a value from a floating-point number.
    public init(floatLiteral value: Double) { self.init(String(value)) }
    /// Creates `true` or `false`.
    public init(booleanLiteral value: Bool) { self.init(String(value)) }
    /// Creates an item without a value.
    public init(nilLiteral: ()) { texts = [nil] }
    /// Creates a list of values.
    public init(arrayLiteral elements: Query.Value...) { texts = elements.flatMap(\.texts) }
}
