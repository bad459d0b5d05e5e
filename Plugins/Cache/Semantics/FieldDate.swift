import Foundation
import TurnpikeCore

/// A date in a field that decides over freshness.
///
/// A text that has none of the three forms of RFC 9110 §5.6.7 to the letter is no date: an `Expires`
/// that is malformed means that the response is stale (RFC 9111 §5.3). The case of letters does not
/// count.
enum FieldDate {
    static func parse(_ text: String, now: Date) -> Date? {
        if let date = preferred(text) { return date }
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

    // The form that nearly all have, without making texts of its parts: each response has one or two.
    private static func preferred(_ text: String) -> Date? {
        unsafe text.utf8.withContiguousStorageIfAvailable { unsafe preferred($0) } ?? nil
    }

    private static func preferred(_ bytes: UnsafeBufferPointer<UInt8>) -> Date? {
        if bytes.count != 29 { return nil }
        func byte(_ index: Int) -> UInt8 { unsafe bytes[index] }
        func number(_ digits: Range<Int>) -> Int64? {
            var value: Int64 = 0
            for index in digits {
                let digit = byte(index) &- UInt8(ascii: "0")
                guard digit < 10 else { return nil }
                value = value * 10 + Int64(digit)
            }
            return value
        }
        guard byte(3) == UInt8(ascii: ","), byte(4) == UInt8(ascii: " "),
            byte(7) == UInt8(ascii: " "), byte(11) == UInt8(ascii: " "),
            byte(16) == UInt8(ascii: " "), byte(19) == UInt8(ascii: ":"),
            byte(22) == UInt8(ascii: ":"), byte(25) == UInt8(ascii: " "),
            byte(26) == UInt8(ascii: "G"), byte(27) == UInt8(ascii: "M"),
            byte(28) == UInt8(ascii: "T"), isLetter(byte(0)), isLetter(byte(1)),
            isLetter(byte(2)), let month = month(byte(8), byte(9), byte(10)),
            let day = number(5..<7), let year = number(12..<16), let hour = number(17..<19),
            let minute = number(20..<22), let second = number(23..<25),
            // The days that not every month has are left to the long way.
            (1...28).contains(day), year >= 1970, hour < 24, minute < 60, second < 60
        else { return nil }
        let days = HTTPDate.daysSince1970(year: year, month: month, day: day)
        return Date(
            timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
    }

    private static func isLetter(_ byte: UInt8) -> Bool { shape(byte) == UInt8(ascii: "a") }

    private static func month(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Int64? {
        switch (first, second, third) {
        case (0x4A, 0x61, 0x6E): 1  // Jan
        case (0x46, 0x65, 0x62): 2  // Feb
        case (0x4D, 0x61, 0x72): 3  // Mar
        case (0x41, 0x70, 0x72): 4  // Apr
        case (0x4D, 0x61, 0x79): 5  // May
        case (0x4A, 0x75, 0x6E): 6  // Jun
        case (0x4A, 0x75, 0x6C): 7  // Jul
        case (0x41, 0x75, 0x67): 8  // Aug
        case (0x53, 0x65, 0x70): 9  // Sep
        case (0x4F, 0x63, 0x74): 10  // Oct
        case (0x4E, 0x6F, 0x76): 11  // Nov
        case (0x44, 0x65, 0x63): 12  // Dec
        default: nil
        }
    }
}
