// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// Parses the date of a cookie's `Expires`, as leniently as RFC 6265bis §5.1.1 requires.
enum CookieDate {
    static func parse(_ text: some StringProtocol) -> Date? {
        var time: (hour: Int64, minute: Int64, second: Int64)?
        var day: Int64?
        var month: Int64?
        var year: Int64?
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = self.time(token) {
                time = found
            } else if day == nil, let found = number(token, 1...2) {
                day = found
            } else if month == nil, let found = self.month(token) {
                month = found
            } else if year == nil, let found = number(token, 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if year < 70 { year += 2000 } else if year < 100 { year += 1900 }
        guard (1...31).contains(day), year >= 1601, time.hour < 24, time.minute < 60,
            time.second < 60
        else { return nil }
        let days = HTTPDate.daysSince1970(year: year, month: month, day: day)
        // A day that the month does not have falls into the next month.
        let nextMonth = HTTPDate.daysSince1970(
            year: month == 12 ? year + 1 : year, month: month % 12 + 1, day: 1)
        guard days < nextMonth else { return nil }
        let seconds = days * 86_400 + time.hour * 3600 + time.minute * 60 + time.second
        return Date(timeIntervalSince1970: Double(seconds))
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    // Digits at the beginning; anything that is not a digit may follow.
    private static func number(_ bytes: some Collection<UInt8>, _ count: ClosedRange<Int>)
        -> Int64?
    {
        let digits = bytes.prefix(while: Grammar.isDigit)
        guard count.contains(digits.count) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    private static func time(_ bytes: some Collection<UInt8>) -> (Int64, Int64, Int64)? {
        let parts = bytes.split(
            separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(Grammar.isDigit),
            parts[1].allSatisfy(Grammar.isDigit),
            let hour = number(parts[0], 1...2), let minute = number(parts[1], 1...2),
            let second = number(parts[2], 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    private static func month(_ bytes: some Collection<UInt8>) -> Int64? {
        let name = String(decoding: bytes.prefix(3).map(Grammar.lowercased), as: UTF8.self)
        return months.firstIndex(of: name).map { Int64($0 + 1) }
    }
}
