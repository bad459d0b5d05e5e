import Foundation

/// One pass over one thing that is to be printed or kept: by which rules, and what came of it.
///
/// What hides a value also tells it (``found``): a second pass over all that belongs together hides it
/// wherever else it stands.
package final class RedactionPass {
    /// What the result is for.
    package enum Purpose: Sendable {
        /// To be read by people: a hidden value becomes one word, whatever it was.
        case display
        /// To be read by programs again: a hidden value keeps its kind, and content that cannot be
        /// read to its end is withheld.
        case record
    }

    let redaction: Redaction
    let purpose: Purpose
    /// Whether content comes back in its own encoding, and not in UTF-8.
    let keepsCoding: Bool
    let known: SecretIndex
    /// Whether what is read comes from a recording, where placeholders stand already.
    let isRecorded: Bool
    /// Whether the secrets that are found count alone, and not what is shown.
    let onlyLearns: Bool
    /// The values that were hidden because of their places.
    private(set) var found: [([UInt8], SecretIndex.Reach)] = []
    /// What could not be read, and stands in the result by its name alone.
    package private(set) var withheld: [WithheldContent] = []
    /// How many bytes were looked at, in all readings of them.
    package var work = 0
    // How many contents the one at hand stands in.
    var depth = 0
    // Whether a character that is not of ASCII cannot be added to the content at hand as it is.
    var isForeign = false

    static let maxDepth = 6

    init(
        _ redaction: Redaction, _ purpose: Purpose, known: SecretIndex = SecretIndex(),
        isRecorded: Bool = false, onlyLearns: Bool = false, keepsCoding: Bool? = nil
    ) {
        self.redaction = redaction
        self.purpose = purpose
        self.keepsCoding = keepsCoding ?? (purpose == .record)
        self.known = known
        self.isRecorded = isRecorded
        self.onlyLearns = onlyLearns
    }

    /// Creates a pass for people, without known secrets.
    package convenience init(_ redaction: Redaction = .standard) { self.init(redaction, .display) }

    static let mark = Array(Redaction.mark.utf8)

    // MARK: What is told

    /// Notes that a value is a secret.
    /// - Parameters:
    ///   - value: The value, as it is meant.
    ///   - isNamed: Whether its name says so in any place; else its looks must say it too.
    func learn(_ value: some Collection<UInt8>, isNamed: Bool) {
        guard let reach = Self.reach(of: value, isNamed: isNamed) else { return }
        found.append((Array(value), reach))
    }

    // What a person wrote, or what is short, stands everywhere: hiding it there would spoil a
    // recording.
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

    /// A text without its secrets.
    func redacted(_ text: String, as shape: SecretScanner.Shape, isCut: Bool = false) -> String {
        SecretScanner.redacted(Array(text.utf8), as: shape, isCut: isCut, in: self).map {
            String(decoding: $0, as: UTF8.self)
        } ?? text
    }

    /// A text inside of something that was read: one that is content of a kind is read as that.
    /// - Returns: The text without its secrets; nil where it has none.
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

    // Content of a kind that is read, packed once more.
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

    // Content that only looks like a kind is text; where it names a secret, nobody can tell what
    // belongs to the name.
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

    /// A value whose name says that it is a secret.
    func hide(_ value: some Collection<UInt8>, isNamed: Bool = true) -> [UInt8] {
        learn(value, isNamed: isNamed)
        return Self.mark
    }

    /// What stands in the place of content that cannot be read to its end.
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

/// Content that stands in a recording, or in a log, by its name alone, for nobody could look for
/// secrets in it.
package struct WithheldContent: Sendable, Hashable, CustomStringConvertible {
    /// What it should have been: `JSON`.
    package let name: String
    /// How many bytes it has.
    package let byteCount: Int
    /// The beginning of its SHA-256 in hexadecimal digits, by which two recordings can be compared.
    package let digest: String
    /// Why it is not shown.
    package let reason: String

    init(_ name: String, _ content: some Collection<UInt8>, _ reason: Unreadable) {
        self.name = name
        byteCount = content.count
        digest = SHA256.digest(Data(content)).prefix(8).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }.joined()
        self.reason = reason.reason
    }

    /// The placeholder: `(withheld: JSON of 12 bytes, SHA-256 0123456789abcdef: …)`.
    package var description: String {
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
