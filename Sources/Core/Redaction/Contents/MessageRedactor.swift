// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Copies messages within content (`application/http`, RFC 9112 §10.2; `message/rfc822`).
///
/// Start line, head and content are redacted like those of the exchange itself.
enum MessageRedactor {
    static func redacted(
        _ bytes: [UInt8], isCut: Bool, in pass: RedactionPass
    ) throws(Unreadable) -> [UInt8] {
        pass.work += 2 * bytes.count
        var shown: [UInt8] = []
        var rest = bytes[...]
        repeat {
            let blanks = rest.prefix { $0 == 0x0A || $0 == 0x0D }
            shown += blanks
            rest = rest[blanks.endIndex...]
            if rest.isEmpty { break }
            rest = try message(rest, &shown, isCut, pass)
        } while !rest.isEmpty
        return shown
    }

    // Copies the first message and returns the bytes after it.
    private static func message(
        _ bytes: ArraySlice<UInt8>, _ shown: inout [UInt8], _ isCut: Bool, _ pass: RedactionPass
    ) throws(Unreadable) -> ArraySlice<UInt8> {
        let end = bytes.firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.endIndex
        let line = bytes[..<end]
        if isCut, end == bytes.endIndex { return bytes[end...] }
        var rest = bytes
        let isMessageOfHTTP = line.contains("HTTP/".utf8)
        if isMessageOfHTTP {
            shown += SecretScanner.redacted(Array(line), as: .text, in: pass) ?? Array(line)
            rest = bytes[end...]
        }
        let head = try MessageHead(rest)
        if !head.isWhole, isCut { return rest[rest.endIndex...] }
        shown += head.redacted(rest, in: pass)
        rest = rest[head.end...]
        let coding = (head.values("transfer-encoding") + head.values("content-encoding")).first
        if coding != nil, !rest.isEmpty {
            shown += pass.withhold(rest, as: "a message", Unreadable("its content is encoded"))
            return rest[rest.endIndex...]
        }
        let length = head.values("content-length").first.flatMap(Int.init)
        let isBounded = isMessageOfHTTP && length != nil
        // A request without a length has no content (RFC 9112 §6.3), so another message follows.
        let isRequest = isMessageOfHTTP && !line.starts(with: "HTTP/".utf8)
        let count = isBounded ? min(max(length ?? 0, 0), rest.count) : isRequest ? 0 : rest.count
        let content = Array(rest.prefix(count))
        let transfer = head.values("content-transfer-encoding").first
        shown += PartContent.redacted(
            content, types: head.values("content-type"), transfer: transfer, isCut: isCut, in: pass)
        return rest.dropFirst(count)
    }
}

/// The content of a part or of a mail message, which may have a transfer encoding.
enum PartContent {
    static func redacted(
        _ content: [UInt8], types: [String], transfer: String?, isCut: Bool, in pass: RedactionPass
    ) -> [UInt8] {
        if content.isEmpty { return content }
        switch transfer?.lowercased() {
        case nil, "", "7bit", "8bit", "binary":
            return pass.content(content, types: types, isCut: isCut)
        case "base64":
            guard let plain = Base64.decode(content) else { break }
            let shown = pass.content(plain, types: types, isCut: isCut)
            return shown == plain ? content : Array(Data(shown).base64EncodedData())
        case "quoted-printable":
            guard let plain = quotedPrintable(content) else { break }
            let shown = pass.content(plain, types: types, isCut: isCut)
            return shown == plain ? content : shown.flatMap(quoted)
        default: break
        }
        return pass.withhold(
            content, as: "content", Unreadable("its transfer encoding is not supported"))
    }

    // RFC 2045 §6.7.
    private static func quotedPrintable(_ text: [UInt8]) -> [UInt8]? {
        var plain: [UInt8] = []
        var position = 0
        while position < text.count {
            guard text[position] == UInt8(ascii: "=") else {
                plain.append(text[position])
                position += 1
                continue
            }
            let rest = text[(position + 1)...]
            if rest.starts(with: "\r\n".utf8) {
                position += 3
            } else if rest.first == 0x0A {
                position += 2
            } else if let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
                rest.count >= 2
            {
                plain.append(value)
                position += 3
            } else {
                return nil
            }
        }
        return plain
    }

    private static func quoted(_ byte: UInt8) -> [UInt8] {
        if byte == 0x0A || byte == 0x0D || (byte >= 0x20 && byte < 0x7F && byte != 0x3D) {
            return [byte]
        }
        let digits = String(byte, radix: 16, uppercase: true)
        return Array(("=" + (digits.count < 2 ? "0" : "") + digits).utf8)
    }
}
