import Foundation
import TurnpikeCore

/// A date in a field that decides over freshness.
///
/// A text that has none of the three forms of RFC 9110 §5.6.7 to the letter is no date: an `Expires`
/// that is malformed means that the response is stale (RFC 9111 §5.3). The case of letters does not
/// count.
enum FieldDate {
    /// The date of the one line of a field, or nil where there is none, or several.
    static func value(of name: HTTPHeaders.Name, in headers: HTTPHeaders, now: Date) -> Date? {
        let lines = headers.values(of: name)
        guard lines.count == 1 else { return nil }
        return parse(lines[0], now: now)
    }

    static func parse(_ text: String, now: Date) -> Date? {
        let shape = String(decoding: text.utf8.prefix(64).map(Self.shape), as: UTF8.self)
        switch shape {
        case "aaa, 00 aaa 0000 00:00:00 aaa", "aaa aaa 00 00:00:00 0000",
            "aaa aaa  0 00:00:00 0000":
            break
        default:
            let days = shape.prefix { $0 == "a" }.count
            guard (6...9).contains(days), shape.dropFirst(days) == ", 00-aaa-00 00:00:00 aaa" else {
                return nil
            }
        }
        guard !shape.hasSuffix("aaa") || Grammar.equalsIgnoringCase(String(text.suffix(3)), "GMT")
        else { return nil }
        return HTTPDate.parse(shape.hasSuffix("aaa") ? text.dropLast(3) + "GMT" : text, now: now)
    }

    private static func shape(_ byte: UInt8) -> UInt8 {
        if byte &- UInt8(ascii: "0") < 10 { return UInt8(ascii: "0") }
        return Grammar.lowercased(byte) &- UInt8(ascii: "a") < 26 ? UInt8(ascii: "a") : byte
    }
}
