// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Searches for secrets in texts that belong together, such as the texts of one message.
///
/// For a log, use ``Redaction``. ``RedactionPass`` is for programs that store messages, such as a
/// recorder. Hidden values have the kinds of the original values, and other programs can still
/// parse the texts. If a value is hidden because of the name, ``Redaction/hide(secretsOf:)`` hides
/// the value everywhere:
///
/// ```swift
/// let pass = RedactionPass(recording: rules)
/// let field = pass.header("X-Api-Key", value)
/// let content = try pass.json(bytes)
/// rules.hide(secretsOf: pass)
/// ```
public final class RedactionPass {
    enum Purpose: Sendable {
        /// For people: a hidden value of any kind becomes one word.
        case display
        /// For programs: hidden values keep their kinds, and unparsable content is withheld.
        case record
    }

    /// The rules for hiding secrets.
    public let redaction: Redaction
    let purpose: Purpose
    let known: SecretIndex
    let xml: (([UInt8], Bool, RedactionPass) throws(ClientError) -> [UInt8])?
    var found: [([UInt8], SecretIndex.Reach)] = []
    /// The placeholders of all content that could not be parsed.
    public private(set) var withheld: [String] = []
    var work = 0
    var depth = 0

    static let maxDepth = 6

    init(
        _ redaction: Redaction, _ purpose: Purpose, known: SecretIndex? = nil,
        xml: (([UInt8], Bool, RedactionPass) throws(ClientError) -> [UInt8])? = nil
    ) {
        self.redaction = redaction
        self.purpose = purpose
        self.known = known ?? redaction.known
        self.xml = xml
    }

    /// Creates an object whose results are for people.
    public convenience init(_ redaction: Redaction = .standard) { self.init(redaction, .display) }

    /// Creates an object whose results are stored for programs.
    /// - Parameters:
    ///   - redaction: The rules.
    ///   - xml: Returns XML within other content without secrets; the second argument is true if
    ///     the XML was truncated. If nil, XML with a secret name is withheld.
    public convenience init(
        recording redaction: Redaction,
        xml: (([UInt8], Bool, RedactionPass) throws(ClientError) -> [UInt8])? = nil
    ) {
        self.init(redaction, .record, xml: xml)
    }

    static let mark = Array(Redaction.mark.utf8)

    // MARK: Secrets

    /// Records a value that looks like a secret or, if `isNamed` is true, is not a common word.
    func learn(_ value: some Collection<UInt8>, isNamed: Bool) {
        guard let reach = Self.reach(of: value, isNamed: isNamed) else { return }
        found.append((Array(value), reach))
    }

    // Short values and words occur everywhere: a recording without such values would be useless.
    private static func reach(
        of value: some Collection<UInt8>, isNamed: Bool
    ) -> SecretIndex.Reach? {
        let count = value.count
        guard count >= SecretIndex.minBytes, Array(value).firstRange(of: mark) == nil,
            !NaturalTextHeuristic.isSentence(value)
        else { return nil }
        let isNumber = value.allSatisfy(Grammar.isDigit)
        if TokenHeuristic.isMade(value) { return isNumber ? .words : .anywhere }
        if !isNamed || isNumber || NaturalTextHeuristic.isCommon(value) { return nil }
        if count >= 8 { return .anywhere }
        return count >= 6 || value.contains(where: Grammar.isDigit) ? .words : nil
    }

    /// Returns the mark that replaces a value with a secret name, and records the value.
    public func hide(_ value: some Collection<UInt8>) -> [UInt8] {
        learn(value, isNamed: true)
        return Self.mark
    }

    /// Returns a placeholder for content that cannot be searched.
    ///
    /// A placeholder contains the kind, length and hash of the content, by which two recordings can
    /// be compared: `(withheld: JSON of 12 bytes, SHA-256 0123456789abcdef: …)`.
    /// - Parameters:
    ///   - content: The content.
    ///   - name: The expected kind, such as `JSON`: letters, digits and spaces.
    ///   - reason: The reason why the content cannot be searched.
    /// - Returns: The placeholder.
    public func withhold(
        _ content: some Collection<UInt8>, as name: String, _ reason: String
    ) -> [UInt8] {
        work += content.count
        let digest = SHA256.digest(of: Data(content)).prefix(8).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }.joined()
        let placeholder =
            "(withheld: \(name) of \(content.count) bytes, SHA-256 \(digest): \(reason))"
        withheld.append(placeholder)
        return Array(placeholder.utf8)
    }

    // MARK: Texts

    func redacted(_ text: String, as shape: SecretScanner.Shape, isCut: Bool = false) -> String {
        SecretScanner.redacted(Array(text.utf8), as: shape, isCut: isCut, in: self).map {
            String(decoding: $0, as: UTF8.self)
        } ?? text
    }

    /// Returns a value of content without secrets, or nil if the value has no secrets.
    ///
    /// The search finds URLs, credentials and assignments, with or without escapes. JSON in the
    /// value is parsed, and so is base64 of JSON.
    /// - Parameters:
    ///   - text: The value without the escapes of the content.
    ///   - isCut: Whether the value was truncated, perhaps within a secret.
    /// - Returns: The value without secrets.
    public func value(_ text: [UInt8], isCut: Bool = false) -> [UInt8]? {
        if text.isEmpty { return nil }
        depth += 1
        defer { depth -= 1 }
        if let kind = NestedKind(sniffing: text) {
            if depth > Self.maxDepth { return Self.mark }
            return nested(kind, text, isCut)
        }
        if let shown = base64(text, isCut) { return shown }
        return SecretScanner.redacted(text, as: .text, isCut: isCut, in: self)
    }

    /// Returns bytes without known secrets and without credentials of a known form, or nil if the
    /// bytes contain neither.
    /// - Parameters:
    ///   - bytes: Bytes of any kind, or the whole of a parsed content.
    ///   - isText: Whether to search the bytes a second time, without escapes and line breaks.
    ///   - isCut: Whether the bytes were truncated, perhaps within a secret.
    /// - Returns: The bytes without the secrets.
    public func bytes(_ bytes: [UInt8], isText: Bool = false, isCut: Bool = false) -> [UInt8]? {
        SecretScanner.redactedBinary(bytes, isText: isText, isCut: isCut, in: self)
    }

    // MARK: Contents

    /// Returns JSON without secrets.
    /// - Parameters:
    ///   - text: One or more JSON texts in UTF-8.
    ///   - isCut: Whether the text was truncated, in which case the last value is left out.
    /// - Returns: The text.
    /// - Throws: ``ClientError/Code/serialization`` if the text is not JSON.
    public func json(_ text: [UInt8], isCut: Bool = false) throws(ClientError) -> [UInt8] {
        try JSONRedactor.redacted(text, isCut: isCut, in: self)
    }

    /// Returns a form (`application/x-www-form-urlencoded`) without secrets.
    /// - Parameters:
    ///   - text: The form.
    ///   - isCut: Whether the form was truncated, perhaps within a secret.
    /// - Returns: The form.
    public func form(_ text: [UInt8], isCut: Bool = false) -> [UInt8] {
        var shown: [UInt8] = []
        shown.reserveCapacity(text.count)
        for item in text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            if item.startIndex > 0 { shown.append(UInt8(ascii: "&")) }
            shown += formItem(item, isCut: isCut && item.endIndex == text.count)
        }
        return shown
    }

    private func formItem(_ item: ArraySlice<UInt8>, isCut: Bool) -> [UInt8] {
        guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else {
            return value(Self.decoded(item), isCut: isCut) == nil ? Array(item) : Self.mark
        }
        let text = Self.decoded(item[(equals + 1)...])
        let name = item[..<equals]
        let shownName = value(Self.decoded(name)) == nil ? Array(name) : Self.mark
        // The text may be a URL, whose path precedes the first name of the query.
        let key = name.lastIndex { "?#".utf8.contains($0) }.map { name[($0 + 1)...] } ?? name
        if redaction.hides(key: key), !text.isEmpty {
            return shownName + [item[equals]] + hide(text)
        }
        let shown = value(text, isCut: isCut)
        return shownName + [item[equals]]
            + (shown == nil ? item[(equals + 1)...] : Self.mark[...])
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let spaced = text.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        guard spaced.contains(UInt8(ascii: "%")) else { return spaced }
        return EscapeDecoder.unescaped(spaced) ?? spaced
    }
}
