// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// One pass over one thing that is printed or recorded: the rules, and the secrets that were found.
///
/// Values that are hidden because of their place are collected in ``found``. A second pass over all
/// related messages can then hide them wherever else they occur.
final class RedactionPass {
    /// The purpose of the result.
    enum Purpose: Sendable {
        /// For people: a hidden value becomes one word, whatever its kind.
        case display
        /// For programs: a hidden value keeps its kind, and content that cannot be parsed
        /// completely is withheld.
        case record
    }

    let redaction: Redaction
    let purpose: Purpose
    /// Whether content is returned in its own encoding rather than in UTF-8.
    let keepsCoding: Bool
    let known: SecretIndex
    /// Whether the input comes from a recording and may already contain placeholders.
    let isRecorded: Bool
    /// Whether only the secrets that are found matter, not the result.
    let onlyLearns: Bool
    /// The media types that are shown although no parser here reads them.
    let allowedTypes: [MediaType]
    /// The values that were hidden because of their place.
    private(set) var found: [([UInt8], SecretIndex.Reach)] = []
    /// The content that could not be parsed and was replaced by a placeholder.
    private(set) var withheld: [WithheldContent] = []
    /// The number of bytes inspected, over all readings.
    var work = 0
    // The nesting depth of the current content.
    var depth = 0
    // Whether characters outside ASCII cannot be added to the current content as they are.
    var isForeign = false

    static let maxDepth = 6

    init(
        _ redaction: Redaction, _ purpose: Purpose, known: SecretIndex = SecretIndex(),
        isRecorded: Bool = false, onlyLearns: Bool = false, keepsCoding: Bool? = nil,
        allowedTypes: [MediaType] = []
    ) {
        self.redaction = redaction
        self.purpose = purpose
        self.keepsCoding = keepsCoding ?? (purpose == .record)
        self.known = known
        self.isRecorded = isRecorded
        self.onlyLearns = onlyLearns
        self.allowedTypes = allowedTypes
    }

    /// Creates a pass for display, without known secrets.
    convenience init(_ redaction: Redaction = .standard) { self.init(redaction, .display) }

    static let mark = Array(Redaction.mark.utf8)

    // MARK: Found secrets

    /// Records that a value is a secret.
    /// - Parameters:
    ///   - value: The value without escapes.
    ///   - isNamed: Whether its name alone proves that it is a secret. Otherwise the value must
    ///     also look like one.
    func learn(_ value: some Collection<UInt8>, isNamed: Bool) {
        guard let reach = Self.reach(of: value, isNamed: isNamed) else { return }
        found.append((Array(value), reach))
    }

    // Short or human-written values occur everywhere; hiding them would spoil a recording.
    private static func reach(
        of value: some Collection<UInt8>, isNamed: Bool
    ) -> SecretIndex.Reach? {
        let count = value.count
        guard count >= SecretIndex.minBytes, Array(value).firstRange(of: mark) == nil,
            !Prose.isSentence(value)
        else { return nil }
        let isNumber = value.allSatisfy(Grammar.isDigit)
        if SecretLooks.isMade(value) { return isNumber ? .words : .anywhere }
        if !isNamed || isNumber || Prose.isCommon(value) { return nil }
        if count >= 8 { return .anywhere }
        return count >= 6 || value.contains(where: Grammar.isDigit) ? .words : nil
    }

    // MARK: Pieces

    /// Returns a text without its secrets.
    func redacted(_ text: String, as shape: SecretScanner.Shape, isCut: Bool = false) -> String {
        SecretScanner.redacted(Array(text.utf8), as: shape, isCut: isCut, in: self).map {
            String(decoding: $0, as: UTF8.self)
        } ?? text
    }

    /// Redacts a text within parsed content.
    ///
    /// A text that looks like JSON, XML or a property list is parsed too.
    /// - Returns: The text without its secrets, or nil if it has none.
    func leaf(_ text: [UInt8], isCut: Bool = false) -> [UInt8]? {
        if text.isEmpty { return nil }
        depth += 1
        defer { depth -= 1 }
        if let inner = ContentKind(sniffing: text) {
            if depth > Self.maxDepth { return Self.mark }
            return nested(inner, text, isCut)
        }
        if let shown = base64(text, isCut) { return shown }
        return SecretScanner.redacted(text, as: .text, isCut: isCut, in: self)
    }

    // Redacts content of a parsed kind within base64, and encodes the result.
    private func base64(_ text: [UInt8], _ isCut: Bool) -> [UInt8]? {
        guard text.count >= 16, Base64.isDigitOrBlank(text[0]), Base64.isDigitOrBlank(text[15]),
            Base64.mayHoldContent(text)
        else { return nil }
        work += text.count
        guard let plain = Base64.decode(text), let kind = ContentKind(sniffing: plain),
            depth < Self.maxDepth, let shown = nested(kind, plain, isCut)
        else { return nil }
        return Base64.encode(shown) + [UInt8](repeating: 0x3D, count: (3 - shown.count % 3) % 3)
    }

    /// Whether content of a kind holds a secret, or may hold one because it cannot be parsed.
    func holdsSecret(_ kind: ContentKind, _ content: [UInt8], isCut: Bool) -> Bool {
        if depth >= Self.maxDepth { return true }
        let inner = RedactionPass(
            redaction, purpose, known: known, isRecorded: isRecorded, onlyLearns: onlyLearns)
        inner.depth = depth + 1
        defer {
            found += inner.found
            work += inner.work
        }
        guard let shown = try? kind.redacted(content, isCut: isCut, in: inner) else {
            return redaction.speaksOfSecrets(content)
        }
        return shown != content
    }

    // Content that only looks like its kind is searched as text. If it mentions a secret name, it
    // is withheld: which value belongs to the name is unknown.
    private func nested(_ kind: ContentKind, _ text: [UInt8], _ isCut: Bool) -> [UInt8]? {
        do {
            let shown = try kind.redacted(text, isCut: isCut, in: self)
            return shown == text ? nil : shown
        } catch {
            if !redaction.speaksOfSecrets(text) {
                return SecretScanner.redacted(text, as: .text, isCut: isCut, in: self)
            }
            return withhold(text, as: kind.name, error)
        }
    }

    /// Hides a value whose name says that it is a secret.
    func hide(_ value: some Collection<UInt8>, isNamed: Bool = true) -> [UInt8] {
        learn(value, isNamed: isNamed)
        return Self.mark
    }

    /// Returns a placeholder for content that cannot be parsed completely.
    func withhold(_ content: some Collection<UInt8>, as name: String, _ reason: Unreadable)
        -> [UInt8]
    {
        work += content.count
        if isRecorded, WithheldContent.isPlaceholder(content) { return Array(content) }
        let one = WithheldContent(name, content, reason)
        withheld.append(one)
        return Array(one.description.utf8)
    }
}

/// Why content is not what its type says, and where.
struct Unreadable: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    init(_ reason: String, at position: Int) { self.reason = "\(reason) at byte \(position)" }
}

/// Content that a recording or a log replaces by a placeholder, because it could not be searched
/// for secrets.
struct WithheldContent: Sendable, Hashable, CustomStringConvertible {
    /// The expected kind, for example `JSON`.
    let name: String
    /// The size in bytes.
    let byteCount: Int
    /// The first digits of the SHA-256 in hexadecimal, for comparing two recordings.
    let digest: String
    /// Why the content is not shown.
    let reason: String

    init(_ name: String, _ content: some Collection<UInt8>, _ reason: Unreadable) {
        self.name = name
        byteCount = content.count
        digest = SHA256.digest(of: Data(content)).prefix(8).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }.joined()
        self.reason = reason.reason
    }

    /// The placeholder: `(withheld: JSON of 12 bytes, SHA-256 0123456789abcdef: …)`.
    var description: String {
        "(withheld: \(name) of \(byteCount) bytes, SHA-256 \(digest): \(reason))"
    }

    /// Whether content is such a placeholder.
    static func isPlaceholder(_ content: some Collection<UInt8>) -> Bool {
        guard content.count < 300, content.starts(with: "(withheld: ".utf8) else { return false }
        let text = String(decoding: content, as: UTF8.self)
        return text.wholeMatch(
            of: /\(withheld: [A-Za-z0-9 ]+ of \d+ bytes, SHA-256 [0-9a-f]{16}: [^\r\n]+\)/) != nil
    }
}
