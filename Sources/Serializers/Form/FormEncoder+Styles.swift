public import Foundation

extension FormEncoder {
    /// How the elements of an array are named.
    public enum Arrays: Sendable {
        /// `tags[]=a&tags[]=b`
        case brackets
        /// `tags=a&tags=b`
        case repeated
        /// `tags[0]=a&tags[1]=b`
        case indexed
        /// The closure gives the name, from the array's name and the element's index.
        case custom(@Sendable (_ name: String, _ index: Int) -> String)

        func name(_ name: String, _ index: Int) -> String {
            switch self {
            case .brackets: name + "[]"
            case .repeated: name
            case .indexed: "\(name)[\(index)]"
            case .custom(let make): make(name, index)
            }
        }

        // Where names hold the index, names in order of text would put 10 before 2.
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

    /// How truth values are written.
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
        /// In base64.
        case base64
        /// As `Data` encodes itself: an array of numbers.
        case deferred
        /// The closure gives the text; what it throws is thrown by the encoder.
        case custom(@Sendable (Data) throws -> String)
    }

    /// How dates are written.
    public enum Dates: Sendable {
        /// As `Date` encodes itself: the seconds since 2001.
        case deferred
        /// The seconds since 1970, with their fraction.
        case secondsSince1970
        /// The milliseconds since 1970, with their fraction.
        case millisecondsSince1970
        /// `2001-01-01T00:02:03Z`
        case iso8601
        /// The closure gives the text; what it throws is thrown by the encoder.
        case custom(@Sendable (Date) throws -> String)

        /// By a format style, such as `Date.VerbatimFormatStyle`.
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

    /// What becomes of names.
    public enum Keys: Sendable {
        /// They stay.
        case unchanged
        /// `oneTwoThree` becomes `one_two_three`, as `JSONEncoder` does it.
        case snakeCase
        /// `oneTwoThree` becomes `one-two-three`.
        case kebabCase
        /// `oneTwoThree` becomes `OneTwoThree`.
        case capitalized
        /// `oneTwoThree` becomes `ONETWOTHREE`.
        case uppercased
        /// `oneTwoThree` becomes `onetwothree`.
        case lowercased
        /// The closure gives the name.
        case custom(@Sendable (String) -> String)
    }

    /// How names within names are written.
    public enum KeyPaths: Sendable {
        /// `user[name]`
        case brackets
        /// `user.name`
        case dots
        /// The closure gives what stands behind the outer name, from the inner one.
        case custom(@Sendable (String) -> String)

        func name(_ outer: String, _ inner: String) -> String {
            switch self {
            case .brackets: outer + "[" + inner + "]"
            case .dots: outer + "." + inner
            case .custom(let make): outer + make(inner)
            }
        }
    }

    /// What becomes of nil.
    public enum Nils: Sendable {
        /// The field is left out.
        case dropKey
        /// `name=`
        case dropValue
        /// `name=null`
        case null
        /// The closure gives the value, or nil to leave the field out.
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

    /// How a blank is written.
    public enum Spaces: Sendable {
        /// `%20`
        case percentEncoded
        /// `+`, as browsers send forms.
        case plus
    }
}
