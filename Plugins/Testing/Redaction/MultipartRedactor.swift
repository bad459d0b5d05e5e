// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Redacts multipart content (RFC 2046 §5.1.1).
///
/// The head of a part is redacted like the head of a message, and the content by the part's own
/// type. If a part has the name of a secret, the content is hidden completely.
struct MultipartRedactor {
    private let bytes: [UInt8]
    private let delimiter: [UInt8]
    private let contents: ContentRedactor
    private let isCut: Bool

    static func redacted(
        _ bytes: [UInt8], boundary: String?, isCut: Bool, in contents: ContentRedactor
    ) throws(ClientError) -> [UInt8] {
        guard let boundary, !boundary.isEmpty, boundary.utf8.count <= 256 else {
            throw .unreadable("its boundary is missing")
        }
        let redactor = MultipartRedactor(
            bytes: bytes, delimiter: Array("--\(boundary)".utf8), contents: contents,
            isCut: isCut)
        return try redactor.redacted()
    }

    /// Returns the boundary if content without a media type looks like multipart form data.
    static func boundary(sniffing content: [UInt8]) -> String? {
        guard content.starts(with: "--".utf8) else { return nil }
        let line = content.prefix(260).prefix { $0 != 0x0A && $0 != 0x0D }
        let rest = content[line.endIndex...].drop { $0 == 0x0A || $0 == 0x0D }
        guard line.count > 2, line.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            rest.prefix(8).map(Grammar.lowercased).elementsEqual("content-".utf8)
        else { return nil }
        return String(decoding: line.dropFirst(2), as: UTF8.self)
    }

    // MARK: Delimiters

    /// A line that begins a part or ends the last part.
    private struct Line {
        /// The range of the line with the line break before the delimiter.
        let range: Range<Int>
        let isLast: Bool
    }

    private func redacted() throws(ClientError) -> [UInt8] {
        let lines = try delimiterLines()
        guard let first = lines.first else { throw .unreadable("it has no parts") }
        let isEnded = lines.last?.isLast == true
        if !isEnded, !isCut { throw .unreadable("the last part has no end") }
        var shown = other(bytes[..<first.range.lowerBound])
        for (index, line) in lines.enumerated() {
            shown += bytes[line.range]
            let end = index + 1 < lines.count ? lines[index + 1].range.lowerBound : bytes.count
            let part = bytes[line.range.upperBound..<end]
            if line.isLast {
                shown += other(part)
            } else {
                shown += try self.part(part, isCut: !isEnded && end == bytes.count)
            }
        }
        return shown
    }

    private func other(_ text: ArraySlice<UInt8>) -> [UInt8] {
        contents.pass.value(Array(text)) ?? Array(text)
    }

    // All delimiters must use the same line break. With several, one recipient could see two parts
    // where another recipient sees a single part that contains a boundary.
    private func delimiterLines() throws(ClientError) -> [Line] {
        var lines: [Line] = []
        var endsWithCR: Bool?
        var position = 0
        while position < bytes.count {
            let end = bytes[position...].firstIndex(of: 0x0A) ?? bytes.count
            let line = bytes[position..<end]
            defer { position = end + 1 }
            guard line.starts(with: delimiter) else { continue }
            var behind = line.dropFirst(delimiter.count)
            let isLast = behind.starts(with: "--".utf8)
            if isLast { behind = behind.dropFirst(2) }
            let hasCR = behind.last == 0x0D
            if hasCR { behind = behind.dropLast() }
            // A longer boundary belongs to other multipart content.
            guard behind.allSatisfy(Grammar.isBlank) else { continue }
            let hasCRBefore = position > 1 && bytes[position - 2] == 0x0D
            if position > 0, hasCRBefore != (endsWithCR ?? hasCR) {
                throw .unreadable("its line endings differ")
            }
            endsWithCR = endsWithCR ?? hasCR
            if end < bytes.count, hasCR != endsWithCR {
                throw .unreadable("its line endings differ")
            }
            // The line break before this delimiter may already belong to the previous delimiter.
            let start = max(
                lines.last?.range.upperBound ?? 0,
                position - (position == 0 ? 0 : hasCRBefore ? 2 : 1))
            lines.append(
                Line(range: start..<min(end + 1, bytes.count), isLast: isLast))
            if isLast { break }
        }
        return lines
    }

    // MARK: Parts

    private func part(_ part: ArraySlice<UInt8>, isCut: Bool) throws(ClientError) -> [UInt8] {
        let head = try PartHead(part)
        // The part is dropped, because the fields of a truncated head are unknown.
        guard head.isWhole else {
            if isCut { return [] }
            throw .unreadable("a part has no content")
        }
        let shown = head.redacted(part, in: contents.pass)
        let content = Array(part[head.end...])
        if content.isEmpty { return shown }
        if isSecret(head, contents.pass.redaction) { return shown + contents.pass.hide(content) }
        for (name, plain) in [
            ("content-encoding", ["identity"]),
            ("content-transfer-encoding", ["", "7bit", "8bit", "binary"]),
        ] {
            guard let coding = head.values(name).first, !plain.contains(coding.lowercased()) else {
                continue
            }
            return shown + contents.withhold(content, as: "a part", "its content is encoded")
        }
        let range = ContentPart(head.values("content-range"))
        if range.beginsWithin {
            return shown
                + contents.remainder(content, types: head.values("content-type"), isCut: isCut)
        }
        return shown
            + contents.content(
                content, types: head.values("content-type"), isCut: isCut || range.isCut)
    }

    // Whether the part may have the name of a secret. An encoded name (RFC 2047, RFC 2231, RFC
    // 8187) is not decoded, and therefore counts as the name of a secret.
    private func isSecret(_ head: PartHead, _ redaction: Redaction) -> Bool {
        let parameters = head.values("content-disposition").flatMap {
            Grammar.split($0[...], at: UInt8(ascii: ";")).dropFirst()
        }
        return parameters.contains { parameter in
            guard let equals = parameter.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                return false
            }
            let name = Grammar.trimmed(parameter[..<equals]).lowercased()
            let text = Grammar.trimmed(parameter[parameter.utf8.index(after: equals)...])
            let value = Grammar.unquoted(text)
            if name != "name" { return name.hasPrefix("name*") }
            return value.contains("=?") || redaction.hides(key: Array(text.utf8))
                || redaction.hides(key: Array(value.utf8))
        }
    }
}
