// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Copies form items and hides the values that are secrets or contain secrets.
enum FormRedactor {
    static func redacted(_ text: [UInt8], isCut: Bool, in pass: RedactionPass) -> [UInt8] {
        var shown: [UInt8] = []
        shown.reserveCapacity(text.count)
        for item in text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            if item.startIndex > 0 { shown.append(UInt8(ascii: "&")) }
            shown += redacted(item, isCut: isCut && item.endIndex == text.count, in: pass)
        }
        return shown
    }

    private static func redacted(
        _ item: ArraySlice<UInt8>, isCut: Bool, in pass: RedactionPass
    ) -> [UInt8] {
        guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else {
            return pass.leaf(decoded(item), isCut: isCut) == nil ? Array(item) : RedactionPass.mark
        }
        let value = decoded(item[(equals + 1)...])
        let name = item[..<equals]
        let shownName = pass.leaf(decoded(name)) == nil ? Array(name) : RedactionPass.mark
        if pass.redaction.hides(key: name), !value.isEmpty {
            return shownName + [item[equals]] + pass.hide(value)
        }
        let shown = pass.leaf(value, isCut: isCut)
        return shownName + [item[equals]]
            + (shown == nil ? item[(equals + 1)...] : RedactionPass.mark[...])
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let spaced = text.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        guard spaced.contains(UInt8(ascii: "%")) else { return spaced }
        return Spelling.unescaped(spaced) ?? spaced
    }

    /// Whether content without a media type looks like a form: names and values without spaces.
    static func isOne(_ content: [UInt8]) -> Bool {
        guard content.count < 1 << 20, let equals = content.firstIndex(of: UInt8(ascii: "=")),
            equals > 0, content[..<equals].allSatisfy(isOfName)
        else { return false }
        return content.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x3C }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        Grammar.isAlphanumeric(byte) || "-_.%[]+~*".utf8.contains(byte)
    }
}
