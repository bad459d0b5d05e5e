// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The request fields in the `Vary` of a stored response, with normalised values.
public struct Variant: Hashable, Sendable {
    /// A field that the response depends on.
    public struct Field: Hashable, Sendable {
        /// The name in lower case.
        public let name: String
        /// The normalised value, or nil if the request had no field with this name.
        ///
        /// A digest replaces a secret or long value.
        public let value: String?

        /// Creates a field.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }

        /// Whether names and values have the same bytes.
        public static func == (left: Self, right: Self) -> Bool {
            left.name == right.name && Grammar.areSame(left.value, right.value)
        }
    }

    /// The fields, in order of their names.
    public let fields: [Field]

    static let maxFields = 32

    /// Creates a variant from fields.
    public init(fields: [Field]) { self.fields = fields }

    /// Creates the variant of a response.
    ///
    /// If the content is still coded, the variant always includes `Accept-Encoding`, because only
    /// callers who accept the coding can read the content. The result is nil if no request can
    /// match (`*`), or if `Vary` is malformed or too long.
    init?(_ response: HTTPHeaders, to request: HTTPHeaders) {
        var names: Set<String> = []
        for field in response where field.name == .vary {
            for member in field.value.split(separator: ",") {
                let name = Grammar.trimmed(member).lowercased()
                if name.isEmpty { continue }
                guard name != "*", Grammar.isToken(name), names.count < Self.maxFields else {
                    return nil
                }
                names.insert(name)
            }
        }
        if response.contains(.contentEncoding) { names.insert("accept-encoding") }
        fields = names.sorted().map { Field(name: $0, value: Self.value(of: $0, in: request)) }
    }

    /// Whether a request selects the response (RFC 9111 §4.1).
    ///
    /// A response in the preferred language of the request matches, even if the original request
    /// accepted other languages.
    func matches(_ request: HTTPHeaders, of response: HTTPHeaders) -> Bool {
        fields.allSatisfy { field in
            let value = Self.value(of: field.name, in: request)
            if Grammar.areSame(field.value, value) { return true }
            guard field.name == "accept-language", let language = response[.contentLanguage],
                let wanted = request[.acceptLanguage]
            else { return false }
            return Self.favourite(wanted) == language.lowercased()
        }
    }

    // Returns the language with the highest weight, or nil if several languages have this weight.
    private static func favourite(_ text: String) -> String? {
        var best: (language: String, weight: Double)?
        var isTied = false
        for member in text.split(separator: ",") {
            let parts = member.split(separator: ";").map { Grammar.trimmed($0).lowercased() }
            guard let language = parts.first, !language.isEmpty else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map {
                Double($0.dropFirst(2)) ?? 0
            }
            let known = best?.weight ?? -1
            isTied = (weight ?? 1) == known || (isTied && (weight ?? 1) < known)
            if (weight ?? 1) > known { best = (language, weight ?? 1) }
        }
        return isTied ? nil : best?.language
    }

    private static func value(of name: String, in request: HTTPHeaders) -> String? {
        let name = HTTPHeaders.Name(name)
        guard let text = request[name] else { return nil }
        var members = Grammar.split(text[...], at: UInt8(ascii: ",")).map {
            String(Grammar.trimmed($0))
        }.filter { !$0.isEmpty }
        switch name {
        case .accept, .acceptCharset, .acceptEncoding, .acceptLanguage:
            // Only weights express a preference (RFC 9110 §12.4.2). Order and case do not matter.
            members = members.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }.sorted()
        default: break
        }
        let value = members.joined(separator: ",")
        let isHidden = value.utf8.count > 256 || Redaction.standard.hides(header: name)
        return isHidden ? "digest:" + Digest.text(value) : value
    }
}
