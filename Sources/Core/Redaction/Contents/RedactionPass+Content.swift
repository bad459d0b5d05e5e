// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Redaction of complete content by media type.
extension RedactionPass {
    /// Returns content without its secrets.
    /// - Parameters:
    ///   - content: The bytes.
    ///   - types: The `Content-Type` values of the message. Values that differ are a contradiction.
    ///   - isCut: Whether the content was truncated.
    /// - Returns: The bytes, or a placeholder if content of a parsed kind cannot be parsed
    ///   completely.
    func content(_ content: [UInt8], types: [String], isCut: Bool) -> [UInt8] {
        if content.isEmpty { return content }
        depth += 1
        defer { depth -= 1 }
        let parsed = types.map { MediaType(parsing: $0) }
        if Set(parsed.map { $0?.essence }).count > 1 {
            return withhold(content, as: "content", Unreadable("its media types differ"))
        }
        let type = parsed.first ?? nil
        guard let kind = kind(of: content, type) else { return other(content, type, isCut) }
        if depth > Self.maxDepth {
            return withhold(content, as: kind.name, Self.isTooDeep)
        }
        do {
            return try read(
                content, as: kind, labels: parsed.compactMap { $0?[parameter: "charset"] }, isCut)
        } catch {
            return withhold(content, as: kind.name, error)
        }
    }

    private static var isTooDeep: Unreadable { Unreadable("it is nested too deeply") }

    private func kind(of content: [UInt8], _ type: MediaType?) -> ContentKind? {
        let kind = type.flatMap { ContentKind($0) } ?? Self.kindByForm(content, type)
        // Content without a type is bytes (RFC 9110 §8.3).
        let stated = type ?? .octetStream
        let isAllowed = allowedTypes.contains { $0.contains(stated) }
        if case .unread = kind { return isAllowed ? nil : kind }
        if kind != nil || isAllowed || stated.isMedia { return kind }
        return UnreadContent(sniffing: content).map(ContentKind.unread)
    }

    /// Returns a part of content that begins within the whole, as a range does, without its
    /// secrets.
    ///
    /// A parser needs the beginning: the names of a table's columns are there, and a part of JSON
    /// may be JSON.
    func remainder(_ content: [UInt8], types: [String], isCut: Bool) -> [UInt8] {
        let type = types.first.flatMap { MediaType(parsing: $0) }
        guard !content.isEmpty, let kind = kind(of: content, type) else {
            return self.content(content, types: types, isCut: isCut)
        }
        return withhold(
            content, as: kind.name, Unreadable("it is a range that begins within the whole"))
    }

    // Detects multipart content and forms without a media type.
    private static func kindByForm(_ content: [UInt8], _ type: MediaType?) -> ContentKind? {
        if type?.type == "text" { return nil }
        if let boundary = MultipartRedactor.boundary(sniffing: content) {
            return .multipart(boundary: boundary)
        }
        return FormRedactor.isOne(content) ? .form : nil
    }

    private func read(
        _ content: [UInt8], as kind: ContentKind, labels: [String], _ isCut: Bool
    ) throws(Unreadable) -> [UInt8] {
        if kind.isBinary || (kind == .propertyList && BinaryPropertyList.isOne(content)) {
            return try kind.redacted(content, isCut: isCut, in: self)
        }
        let labels =
            kind == .xml || kind == .propertyList
            ? labels + XMLRedactor.declaredEncodings(content) : labels
        let coding = try TextCoding(of: content, labels: labels, isCut: isCut)
        let text = try coding.decode(content, isCut: isCut)
        work += 2 * content.count
        let wasForeign = isForeign
        isForeign = coding.isForeign
        defer { isForeign = wasForeign }
        let values = try kind.redacted(text, isCut: isCut, in: self)
        // Finally search the names and the text between the values.
        let shown =
            SecretScanner.redactedBinary(values, isText: true, isCut: isCut, in: self) ?? values
        if !keepsCoding { return shown }
        return shown == text && !isCut ? content : coding.encode(shown)
    }

    // Redacts content of a kind that is not parsed: text or bytes.
    private func other(_ content: [UInt8], _ type: MediaType?, _ isCut: Bool) -> [UInt8] {
        if BinaryPropertyList.isOne(content) {
            do throws(Unreadable) {
                if depth > Self.maxDepth { throw Self.isTooDeep }
                return try BinaryPropertyList.redacted(content, in: self)
            } catch {
                return withhold(content, as: ContentKind.propertyList.name, error)
            }
        }
        let labels = [type?[parameter: "charset"]].compactMap(\.self)
        guard let coding = try? TextCoding(of: content, labels: labels, isCut: isCut),
            !coding.isForeign || type?.type == "text" || purpose == .display,
            let text = try? coding.decode(content, isCut: isCut), type?.isMedia != true
        else { return SecretScanner.redactedBinary(content, isCut: isCut, in: self) ?? content }
        work += 2 * content.count
        // Text that is declared as UTF-16 or UTF-32 may be narrow all the same.
        if coding.isWide,
            let shown = SecretScanner.redactedBinary(content, isText: true, isCut: isCut, in: self)
        {
            return shown
        }
        let shown = leaf(text, isCut: isCut)
        if !keepsCoding { return shown ?? text }
        guard let shown else { return content }
        return coding.encode(shown)
    }
}

extension MediaType {
    /// Whether the type stands for images, audio, video or fonts that are not text.
    fileprivate var isMedia: Bool {
        ["image", "audio", "video", "font"].contains(type) && suffix != "xml"
    }
}
