// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The grammar of `tracestate` (W3C Trace Context, level 2, §3.3).
enum TraceState {
    // Returns the list without whitespace around its members, or nil if any member is invalid. If
    // several members have the same key, the first (newest) member counts.
    static func checked(_ text: String) -> String? {
        var members: [Substring] = []
        var keys: Set<Substring> = []
        for piece in text.split(separator: ",", omittingEmptySubsequences: true) {
            let member = trimmed(piece)
            if member.isEmpty { continue }
            guard let equals = member.firstIndex(of: "="), isKey(member[..<equals]),
                isValue(member[member.index(after: equals)...])
            else { return nil }
            if keys.insert(member[..<equals]).inserted { members.append(member) }
        }
        guard (1...32).contains(members.count) else { return nil }
        return shortened(members).joined(separator: ",")
    }

    // Removes members longer than 128 bytes first, and the last members next (§3.3.1.5).
    private static func shortened(_ members: [Substring]) -> [Substring] {
        var members = members
        func size() -> Int { members.reduce(members.count - 1) { $0 + $1.utf8.count } }
        while size() > 512, let long = members.lastIndex(where: { $0.utf8.count > 128 }) {
            members.remove(at: long)
        }
        while size() > 512 { members.removeLast() }
        return members
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    // Since level 2, an at sign may be anywhere after the first character (§3.3.1.3.1).
    private static func isKey(_ key: Substring) -> Bool {
        guard let first = key.utf8.first, isLowerOrDigit(first), key.utf8.count <= 256 else {
            return false
        }
        return key.utf8.allSatisfy { isLowerOrDigit($0) || "_-*/@".utf8.contains($0) }
    }

    private static func isValue(_ value: Substring) -> Bool {
        (1...256).contains(value.utf8.count)
            && value.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") }
    }

    private static func isLowerOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
