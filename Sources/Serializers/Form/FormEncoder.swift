// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// Encodes values as URL-encoded form fields, for a query or a request body.
///
/// ```swift
/// var encoder = FormEncoder()
/// encoder.arrays = .repeated
/// let page = client.get("search", parameters: Search(text: "swift", tags: ["a", "b"]), encoder: encoder)
/// ```
///
/// Fields are sorted by name, or have the order of the type's properties. Array elements have the
/// order of the array. Dictionaries and sets are always sorted, because the result must be the same
/// in each run. A `URL` becomes the text of the URL, and a `Decimal` becomes plain digits. Integers
/// are exact.
public struct FormEncoder: Sendable {
    /// The names of array elements.
    public var arrays: Arrays = .brackets
    /// Whether Boolean values are written as `true` and `false` instead of `1` and `0`.
    public var usesWordsForBooleans = false
    /// The text for bytes.
    public var data: DataStyle = .base64
    /// The text for dates.
    public var dates: Dates = .deferred
    /// The conversion of property names and dictionary keys.
    public var keys: Keys = .unchanged
    /// The notation of nested names.
    public var keyPaths: KeyPaths = .brackets
    /// The text for nil.
    public var nils: Nils = .dropKey
    /// Whether a space becomes `+`, as in the forms of browsers, instead of `%20`.
    public var usesPlusForSpaces = false
    /// Whether fields are sorted by name, and not in the order of encoding.
    public var sortsFields = true
    /// The characters that are not percent-encoded, in addition to ASCII letters and digits.
    ///
    /// Characters beyond ASCII, `%`, `&`, `=`, `+` and `#` are always encoded, as UTF-8. A query
    /// may contain `/` and `?` unencoded (RFC 3986 §3.4).
    public var unescaped = "-._~/?"
    /// Whether the media type of a body has the parameter `charset=utf-8`.
    ///
    /// Many servers expect the parameter, although the registered media type has no parameter.
    public var statesCharset = true

    /// Creates an encoder with the default of each option.
    public init() {}

    /// Encodes the members of a value as fields.
    /// - Parameter value: A value with named members: a type with coding keys, or a dictionary.
    /// - Returns: `name=value` pairs that are joined by `&`, or an empty text if there are no
    ///   fields.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value has no named
    ///   members, and any error of the value or of a closure among the options.
    public func encode(_ value: some Encodable) throws -> String {
        let slot = FormSlot()
        try FormValueEncoder(options: self, slot: slot).encode(value)
        guard let node = slot.node, case .object = node else {
            throw ClientError(
                .serialization, "a \(type(of: value)) has no named members to encode as a form")
        }
        return FormWriter(options: self).write(node)
    }

    /// Encodes fields in order; for a field without a value, the result contains only the name.
    public func encode(_ fields: Query) -> String {
        FormWriter(options: self).write(fields)
    }

    var mediaType: MediaType {
        guard statesCharset else { return .form }
        let charset = MediaType.Parameter(name: "charset", value: "utf-8")
        return MediaType("application", "x-www-form-urlencoded", parameters: [charset])
    }
}

extension FormEncoder.Keys {
    func name(_ key: String) -> String {
        switch self {
        case .unchanged: key
        case .snakeCase: Self.words(key, joinedBy: "_")
        case .kebabCase: Self.words(key, joinedBy: "-")
        case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
        case .uppercased: key.uppercased()
        case .lowercased: key.lowercased()
        case .custom(let make): make(key)
        }
    }

    // Splits a camel-case name into words. The first letter counts as lower case. A run of capitals
    // is one word up to the capital before the next lower-case letter: `myHTTPServer` becomes my,
    // HTTP, Server. If no lower-case letter follows, the word contains the whole run.
    private static func words(_ name: String, joinedBy separator: Character) -> String {
        let letters = Array(name)
        var starts: Set<Int> = []
        var position = 1
        while let capital = letters.indices.first(where: {
            $0 >= position && letters[$0].isUppercase
        }) {
            starts.insert(capital)
            guard
                let small = letters.indices.first(where: { $0 > capital && letters[$0].isLowercase }
                )
            else { break }
            if small > capital + 1 { starts.insert(small - 1) }
            position = small + 1
        }
        var result = ""
        for (index, letter) in letters.enumerated() {
            if starts.contains(index) { result.append(separator) }
            result += letter.lowercased()
        }
        return result
    }
}

extension FormEncoder {
    /// The names of array elements.
    public enum Arrays: Sendable {
        /// The names have empty brackets: `tags[]=a&tags[]=b`.
        case brackets
        /// The elements have equal names: `tags=a&tags=b`.
        case repeated
        /// The names contain the index: `tags[0]=a&tags[1]=b`.
        case indexed
        /// The closure returns the name of an element from the name of the array and the index.
        case custom(@Sendable (_ name: String, _ index: Int) -> String)

        func name(_ name: String, _ index: Int) -> String {
            switch self {
            case .brackets: name + "[]"
            case .repeated: name
            case .indexed: "\(name)[\(index)]"
            case .custom(let make): make(name, index)
            }
        }

        // The index gets leading zeros, because a text with 10 would be sorted before a text with
        // 2.
        func sortName(_ name: String, _ index: Int) -> String {
            switch self {
            case .brackets, .repeated: return self.name(name, index)
            case .indexed, .custom:
                let digits = String(index)
                return name + "[" + String(repeating: "0", count: max(20 - digits.count, 0))
                    + digits + "]"
            }
        }
    }

    func text(_ value: Bool) -> String {
        if usesWordsForBooleans { return value ? "true" : "false" }
        return value ? "1" : "0"
    }

    /// The text for bytes.
    public enum DataStyle: Sendable {
        /// As base64.
        case base64
        /// An array of numbers, as `Data` encodes itself.
        case deferred
        /// The closure returns the text, or throws an error that `encode(_:)` throws.
        case custom(@Sendable (Data) throws -> String)
    }

    /// The text for dates.
    public enum Dates: Sendable {
        /// Seconds since 2001, as `Date` encodes itself.
        case deferred
        /// Seconds since 1970, with a fraction.
        case secondsSince1970
        /// Milliseconds since 1970, with a fraction.
        case millisecondsSince1970
        /// ISO 8601: `2001-01-01T00:02:03Z`.
        case iso8601
        /// The closure returns the text, or throws an error that `encode(_:)` throws.
        case custom(@Sendable (Date) throws -> String)

        /// Writes dates with a format style, such as `Date.VerbatimFormatStyle`.
        public static func formatted<Style: FormatStyle & Sendable>(_ style: Style) -> Self
        where Style.FormatInput == Date, Style.FormatOutput == String {
            .custom { style.format($0) }
        }

        func text(_ date: Date) throws -> String? {
            switch self {
            case .deferred: nil
            case .secondsSince1970: String(date.timeIntervalSince1970)
            case .millisecondsSince1970: String(date.timeIntervalSince1970 * 1000)
            case .iso8601: date.formatted(.iso8601)
            case .custom(let make): try make(date)
            }
        }
    }

    /// The conversion of property names and dictionary keys.
    public enum Keys: Sendable {
        /// Names are unchanged.
        case unchanged
        /// `oneTwoThree` becomes `one_two_three`, as with `JSONEncoder`.
        case snakeCase
        /// `oneTwoThree` becomes `one-two-three`.
        case kebabCase
        /// `oneTwoThree` becomes `OneTwoThree`.
        case capitalized
        /// `oneTwoThree` becomes `ONETWOTHREE`.
        case uppercased
        /// `oneTwoThree` becomes `onetwothree`.
        case lowercased
        /// The closure converts a name.
        case custom(@Sendable (String) -> String)
    }

    /// The notation of nested names.
    public enum KeyPaths: Sendable {
        /// The inner name has brackets: `user[name]`.
        case brackets
        /// The inner name follows a dot: `user.name`.
        case dots
        /// The closure gets the inner name, and returns the text to append to the outer name.
        case custom(@Sendable (String) -> String)

        func name(_ outer: String, _ inner: String) -> String {
            switch self {
            case .brackets: outer + "[" + inner + "]"
            case .dots: outer + "." + inner
            case .custom(let make): outer + make(inner)
            }
        }
    }

    /// The text for nil.
    public enum Nils: Sendable {
        /// The field is left out.
        case dropKey
        /// The value is empty: `name=`.
        case dropValue
        /// The value is the word null: `name=null`.
        case null
        /// The closure returns the value, or nil to leave the field out.
        case custom(@Sendable () -> String?)

        var text: String? {
            switch self {
            case .dropKey: nil
            case .dropValue: ""
            case .null: "null"
            case .custom(let make): make()
            }
        }
    }
}
