// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

final class ContentRedactor {
    let pass: RedactionPass
    /// Whether the content comes from a recording and may already contain placeholders.
    let isRecorded: Bool
    /// Whether only the secrets are needed, and not the redacted result.
    private let onlyLearns: Bool
    // The media types that are shown although this library cannot parse content of these types.
    private let allowedTypes: [MediaType]
    private var depth = 0

    private static let maxDepth = 6

    init(
        _ redaction: Redaction, isRecorded: Bool = false, onlyLearns: Bool = false,
        allowedTypes: [MediaType] = []
    ) {
        pass = RedactionPass(recording: redaction, xml: XMLRedactor.redacted)
        self.isRecorded = isRecorded
        self.onlyLearns = onlyLearns
        self.allowedTypes = allowedTypes
    }

    /// Returns content without secrets, or a placeholder for malformed content or several types.
    func content(_ content: [UInt8], types: [String], isCut: Bool) -> [UInt8] {
        if content.isEmpty { return content }
        depth += 1
        defer { depth -= 1 }
        let parsed = types.map { MediaType(parsing: $0) }
        if Set(parsed.map { $0?.essence }).count > 1 {
            return withhold(content, as: "content", "its media types differ")
        }
        let type = parsed.first ?? nil
        guard let kind = kind(of: content, type) else { return other(content, type, isCut) }
        do throws(ClientError) {
            if depth > Self.maxDepth { throw .unreadable("it is nested too deeply") }
            return try read(
                content, as: kind, labels: parsed.compactMap { $0?[parameter: "charset"] }, isCut)
        } catch {
            return withhold(content, as: kind.name, error.message)
        }
    }

    private func kind(of content: [UInt8], _ type: MediaType?) -> ContentKind? {
        // Content without a type counts as bytes (RFC 9110 §8.3).
        let stated = type ?? .octetStream
        let isAllowed = allowedTypes.contains { $0.contains(stated) }
        let kind: ContentKind? =
            content.starts(with: "bplist0".utf8)
            ? .unread("a binary property list")
            : type.flatMap { ContentKind($0) } ?? ContentKind(sniffing: content, type)
        if case .unread = kind { return isAllowed ? nil : kind }
        if kind != nil || isAllowed || stated.isMedia { return kind }
        if TextCoding.isWide(content, labels(type)) { return .unread("text in UTF 16 or 32") }
        return ContentKind.unread(sniffing: content)
    }

    /// Redacts a part of content that does not start at the beginning, as with a range.
    ///
    /// A parser needs the beginning, which contains the column names of a table. A part of JSON may
    /// be JSON.
    func remainder(_ content: [UInt8], types: [String], isCut: Bool) -> [UInt8] {
        let type = types.first.flatMap { MediaType(parsing: $0) }
        guard !content.isEmpty, let kind = kind(of: content, type) else {
            return self.content(content, types: types, isCut: isCut)
        }
        return withhold(content, as: kind.name, "the range does not begin at the first byte")
    }

    private func read(
        _ content: [UInt8], as kind: ContentKind, labels: [String], _ isCut: Bool
    ) throws(ClientError) -> [UInt8] {
        switch kind {
        // The parts have their own charsets.
        case .multipart(let boundary):
            return try MultipartRedactor.redacted(
                content, boundary: boundary, isCut: isCut, in: self)
        case .unread: throw .unreadable("this kind is not parsed")
        default: break
        }
        let labels = kind == .xml ? labels + XMLText.declaredEncodings(content) : labels
        let coding = try TextCoding(of: content, labels: labels, isCut: isCut)
        let text = try coding.decode(content, isCut: isCut)
        let values =
            switch kind {
            case .json: try pass.json(text, isCut: isCut)
            case .form: pass.form(text, isCut: isCut)
            case .xml: try XMLRedactor.redacted(text, isCut: isCut, in: pass)
            case .jsonLines: LineRedactor.redactedJSON(text, isCut: isCut, in: self)
            case .eventStream: LineRedactor.redactedEvents(text, isCut: isCut, in: pass)
            case .table(let isTabbed):
                try TableRedactor.redacted(text, isTabbed: isTabbed, isCut: isCut, in: self)
            case .multipart, .unread: text
            }
        // This search covers the names and the text between the values.
        let shown = bytes(values, isText: true, isCut) ?? values
        return shown == text && !isCut ? content : coding.encode(shown)
    }

    // Redacts content that is not parsed as text or as bytes.
    private func other(_ content: [UInt8], _ type: MediaType?, _ isCut: Bool) -> [UInt8] {
        // Text in an unknown charset is searched like text in a charset that extends ASCII, and
        // like bytes, because zeros may separate the characters.
        let declared = try? TextCoding(of: content, labels: labels(type), isCut: isCut)
        guard let coding = declared ?? (try? TextCoding(of: content, labels: [], isCut: isCut)),
            !coding.isForeign || type?.type == "text",
            let text = try? coding.decode(content, isCut: isCut), type?.isMedia != true
        else { return bytes(content, isText: false, isCut) ?? content }
        let shown = pass.value(text, isCut: isCut).map(coding.encode) ?? content
        return declared != nil ? shown : bytes(shown, isText: false, isCut) ?? shown
    }

    private func labels(_ type: MediaType?) -> [String] {
        [type?[parameter: "charset"]].compactMap(\.self)
    }

    // A credential is not learned, because its form is recognized in any place.
    private func bytes(_ bytes: [UInt8], isText: Bool, _ isCut: Bool) -> [UInt8]? {
        onlyLearns ? nil : pass.bytes(bytes, isText: isText, isCut: isCut)
    }

    func withhold(_ content: some Collection<UInt8>, as name: String, _ reason: String)
        -> [UInt8]
    {
        isPlaceholder(content) ? Array(content) : pass.withhold(content, as: name, reason)
    }

    func isPlaceholder(_ content: some Collection<UInt8>) -> Bool {
        isRecorded && Self.looksWithheld(content)
    }

    static func looksWithheld(_ content: some Collection<UInt8>) -> Bool {
        guard content.count < 300, content.starts(with: "(withheld: ".utf8) else { return false }
        let text = String(decoding: content, as: UTF8.self)
        return text.wholeMatch(
            of: /\(withheld: [A-Za-z0-9 ]+ of \d+ bytes, SHA-256 [0-9a-f]{16}: [^\r\n]+\)/) != nil
    }
}

extension ClientError {
    static func unreadable(_ reason: String, at position: Int? = nil) -> ClientError {
        ClientError(.serialization, reason + (position.map { " at byte \($0)" } ?? ""))
    }
}

/// The position of partial content in the whole content, from `Content-Range` (RFC 9110 §14.4).
struct ContentPart {
    let beginsWithin: Bool
    // Whether the part ends before the whole content ends. The part may then end within a secret.
    let isCut: Bool

    init(_ values: [String]) {
        // `bytes */1000` describes no part.
        let numbers = values.filter { !$0.contains("*/") }.map { value in
            value.utf8.split { !Grammar.isDigit($0) }.map {
                UInt64(String(decoding: $0, as: UTF8.self)) ?? .max
            }
        }
        beginsWithin = numbers.contains { ($0.first ?? 0) > 0 }
        isCut = numbers.contains { $0.count < 3 || $0[1] < .max && $0[1] + 1 < $0[2] }
    }
}

extension MediaType {
    /// Whether the type is an image, audio, video or font format that is not text.
    fileprivate var isMedia: Bool {
        ["image", "audio", "video", "font"].contains(type) && suffix != "xml"
    }
}
