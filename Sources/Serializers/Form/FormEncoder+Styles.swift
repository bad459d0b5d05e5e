// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension FormEncoder {
    /// How array elements are named.
    public enum Arrays: Sendable {
        /// `tags[]=a&tags[]=b`
        case brackets
        /// `tags=a&tags=b`
        case repeated
        /// `tags[0]=a&tags[1]=b`
        case indexed
        /// The closure returns the name for an array's name and an element's index.
        case custom(@Sendable (_ name: String, _ index: Int) -> String)

        func name(_ name: String, _ index: Int) -> String {
            switch self {
            case .brackets: name + "[]"
            case .repeated: name
            case .indexed: "\(name)[\(index)]"
            case .custom(let make): make(name, index)
            }
        }

        // Sorting indexed names as text would put 10 before 2, so the index is padded.
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

    /// How Boolean values are written.
    public enum Booleans: Sendable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal

        func text(_ value: Bool) -> String {
            switch self {
            case .numeric: value ? "1" : "0"
            case .literal: value ? "true" : "false"
            }
        }
    }

    /// How bytes are written.
    public enum DataStyle: Sendable {
        /// As base64.
        case base64
        /// As `Data` encodes itself: an array of numbers.
        case deferred
        /// The closure returns the text; the encoder rethrows its errors.
        case custom(@Sendable (Data) throws -> String)
    }

    /// How dates are written.
    public enum Dates: Sendable {
        /// As `Date` encodes itself: seconds since 2001.
        case deferred
        /// Seconds since 1970, with a fraction.
        case secondsSince1970
        /// Milliseconds since 1970, with a fraction.
        case millisecondsSince1970
        /// `2001-01-01T00:02:03Z`
        case iso8601
        /// The closure returns the text; the encoder rethrows its errors.
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

    /// How the names of properties and dictionary keys are converted.
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
        /// The closure returns the name.
        case custom(@Sendable (String) -> String)
    }

    /// How nested names are written.
    public enum KeyPaths: Sendable {
        /// `user[name]`
        case brackets
        /// `user.name`
        case dots
        /// The closure receives the inner name and returns what is appended to the outer name.
        case custom(@Sendable (String) -> String)

        func name(_ outer: String, _ inner: String) -> String {
            switch self {
            case .brackets: outer + "[" + inner + "]"
            case .dots: outer + "." + inner
            case .custom(let make): outer + make(inner)
            }
        }
    }

    /// How nil is written.
    public enum Nils: Sendable {
        /// The field is left out.
        case dropKey
        /// `name=`
        case dropValue
        /// `name=null`
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

    /// How a space is written.
    public enum Spaces: Sendable {
        /// `%20`
        case percentEncoded
        /// `+`, as in forms sent by browsers.
        case plus
    }
}
