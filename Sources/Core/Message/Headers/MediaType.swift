// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// A media type or range (RFC 9110 §8.3.1, §12.5.1), in lower case except for parameter values.
public struct MediaType: Hashable, Sendable {
    /// The type before the slash, or `*` in a range.
    public let type: String
    /// The subtype after the slash, or `*` in a range.
    public let subtype: String
    /// The parameters in order, without `q`; names are in lower case, and values have no quotes.
    public let parameters: [Parameter]
    /// The weight of a range in `Accept` (RFC 9110 §12.4.2), 0 to 1.
    public let quality: Double

    /// One parameter of a media type.
    public struct Parameter: Hashable, Sendable {
        /// The name in lower case.
        public let name: String
        /// The value without quotes.
        public let value: String

        /// Creates a parameter.
        public init(name: String, value: String) {
            self.name = name.lowercased()
            self.value = value
        }
    }

    /// Creates a media type from its parts.
    public init(
        _ type: String, _ subtype: String, parameters: [Parameter] = [], quality: Double = 1
    ) {
        self.type = type.lowercased()
        self.subtype = subtype.lowercased()
        self.parameters = parameters
        self.quality = quality.isNaN ? 1 : quality
    }

    /// Parses a media type or range, or returns nil if the text is neither.
    ///
    /// The parser skips a parameter without a value. If a closing quote is missing, the quoted
    /// string extends to the end of the text.
    public init?(parsing text: String) {
        let parts = Grammar.split(text[...], at: UInt8(ascii: ";"))
        let names = Grammar.trimmed(parts[0]).split(
            separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard names.count == 2 else { return nil }
        let type = Grammar.trimmed(names[0])
        let subtype = Grammar.trimmed(names[1])
        guard Grammar.isToken(String(type)), Grammar.isToken(String(subtype)) else { return nil }
        var parameters: [Parameter] = []
        var quality = 1.0
        for part in parts.dropFirst() {
            guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = Grammar.trimmed(part[..<equals]).lowercased()
            let value = Grammar.unquoted(Grammar.trimmed(part[part.utf8.index(after: equals)...]))
            if name == "q" {
                quality = min(max(Double(value) ?? 0, 0), 1)
            } else if Grammar.isToken(name) {
                parameters.append(Parameter(name: name, value: value))
            }
        }
        self.init(String(type), String(subtype), parameters: parameters, quality: quality)
    }

    /// Parses the ranges of an `Accept` field, and skips invalid parts.
    public static func list(_ text: String) -> [MediaType] {
        Grammar.split(text[...], at: UInt8(ascii: ",")).compactMap {
            MediaType(parsing: String($0))
        }
    }

    /// The value of the first parameter with a name, or nil.
    public subscript(parameter name: String) -> String? {
        parameters.first { $0.name == name.lowercased() }?.value
    }

    /// Whether this range contains a media type, without regard to parameters and weights.
    ///
    /// A subtype such as `*+json` includes all types with that suffix, although no RFC defines this
    /// form.
    public func contains(_ other: MediaType) -> Bool {
        guard type == "*" || type == other.type else { return false }
        if subtype == "*" || subtype == other.subtype { return true }
        return subtype.utf8.starts(with: "*+".utf8) && suffix == other.suffix
    }

    /// The structured syntax suffix without its plus sign (RFC 6838 §4.2.8), such as `json`.
    public var suffix: String? {
        guard let plus = subtype.lastIndex(of: "+") else { return nil }
        let suffix = subtype[subtype.index(after: plus)...]
        return suffix.isEmpty ? nil : String(suffix)
    }

    /// The text `type/subtype` without parameters.
    public var essence: String { type + "/" + subtype }

    /// Any type.
    public static let any = MediaType("*", "*")
    /// The type `application/json`.
    public static let json = MediaType("application", "json")
    /// The type `application/octet-stream`.
    public static let octetStream = MediaType("application", "octet-stream")
    /// The type `application/x-www-form-urlencoded`.
    public static let form = MediaType("application", "x-www-form-urlencoded")
    /// The type `application/x-plist`.
    public static let propertyList = MediaType("application", "x-plist")
    /// The type `text/plain`.
    public static let plainText = MediaType("text", "plain")
    /// The type `text/event-stream`.
    public static let eventStream = MediaType("text", "event-stream")
}

extension MediaType: CustomStringConvertible {
    /// The text for a field, with the parameters and a weight below 1.
    public var description: String {
        var text = essence
        for parameter in parameters {
            text += "; \(parameter.name)="
            let isToken = Grammar.isToken(parameter.value)
            text += isToken ? parameter.value : Grammar.quoted(parameter.value)
        }
        // The weight is rounded first, because a weight slightly below 1 must not become 0.
        let thousandths = Int((min(max(quality, 0), 1) * 1000).rounded())
        if thousandths < 1000 {
            var digits = String(thousandths + 1000).dropFirst()
            while digits.last == "0", digits.count > 1 { digits.removeLast() }
            text += ";q=0." + digits
        }
        return text
    }
}

extension MediaType: ExpressibleByStringLiteral {
    /// Creates a media type from a literal; an invalid literal becomes a type that matches nothing.
    public init(stringLiteral value: String) {
        self = MediaType(parsing: value) ?? MediaType("", "")
    }
}
