// SPDX-License-Identifier: Apache-2.0

/// Parses and formats dates in HTTP format (RFC 9110 §5.6.7).
public enum HTTPDate {
    /// Parses any of the three formats: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94
    /// 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
    ///
    /// The case of letters has no meaning. All other differences make the date malformed, and a
    /// cache must treat a malformed `Expires` as past (RFC 9111 §5.3).
    /// - Parameters:
    ///   - text: The text, whose surrounding whitespace is ignored.
    ///   - now: The current time, for interpreting two-digit years.
    /// - Returns: The date, or nil if the text is not a date.
    public static func parse(_ text: String, now: Date) -> Date? {
        var form = Form(bytes: Array(Grammar.trimmed(text).utf8))
        let weekday = form.letters()
        if form.take(", ") {
            let isPreferred = weekday == 3
            let separator: StaticString = isPreferred ? " " : "-"
            guard isPreferred || (6...9).contains(weekday), let day = form.number(2),
                form.take(separator), let month = form.month(), form.take(separator),
                let year = form.number(isPreferred ? 4 : 2), form.take(" "),
                let time = form.time(), form.take(" gmt"), form.isAtEnd
            else { return nil }
            return date(isPreferred ? year : fullYear(year, now: now), month, day, time)
        }
        guard weekday == 3, form.take(" "), let month = form.month(), form.take(" "),
            let day = form.take(" ") ? form.number(1) : form.number(2), form.take(" "),
            let time = form.time(), form.take(" "), let year = form.number(4), form.isAtEnd
        else { return nil }
        return date(year, month, day, time)
    }

    /// Formats a date in the preferred format: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public static func format(_ date: Date) -> String {
        // NaN becomes the epoch.
        let interval = date.timeIntervalSince1970
        let seconds = Int64(interval.isNaN ? 0 : min(max(interval.rounded(.down), -6e10), 2.5e11))
        let days = (seconds - (seconds % 86_400 + 86_400) % 86_400) / 86_400
        let time = seconds - days * 86_400
        let (year, month, day) = civil(daysSince1970: days)
        let weekday = weekdays[Int((days % 7 + 11) % 7)]
        var text: [UInt8] = []
        text.reserveCapacity(29)
        text += weekday.utf8
        text += ", ".utf8
        append(day, to: &text)
        text += " ".utf8
        text += months[Int(month) - 1].utf8
        text += " ".utf8
        append(year / 100, to: &text)
        append(year % 100, to: &text)
        text += " ".utf8
        append(time / 3600, to: &text)
        text += ":".utf8
        append(time / 60 % 60, to: &text)
        text += ":".utf8
        append(time % 60, to: &text)
        text += " GMT".utf8
        return String(decoding: text, as: UTF8.self)
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let lowercasedMonths: [StaticString] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    // A date more than 50 years ahead is in the previous century (RFC 9110 §5.6.7).
    private static func fullYear(_ year: Int64, now: Date) -> Int64 {
        // The days are limited for any `now`; NaN becomes the lower limit.
        let days = Int64(min(max(-1e9, now.timeIntervalSince1970 / 86_400), 1e9))
        let present = civil(daysSince1970: days).year
        let full = year + present / 100 * 100
        return full > present + 50 ? full - 100 : full
    }

    private static func date(_ year: Int64, _ month: Int64, _ day: Int64, _ time: Int64) -> Date? {
        guard year >= 1601 else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        guard civil(daysSince1970: days) == (year, month, day) else { return nil }
        return Date(timeIntervalSince1970: Double(days * 86_400 + time))
    }

    private struct Form {
        let bytes: [UInt8]
        private var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { position == bytes.count }

        private var next: UInt8? { isAtEnd ? nil : Grammar.lowercased(bytes[position]) }

        mutating func letters() -> Int {
            let start = position
            while let next, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(next) { position += 1 }
            return position - start
        }

        mutating func take(_ text: StaticString) -> Bool {
            let count = text.utf8CodeUnitCount
            guard position + count <= bytes.count else { return false }
            let isNext = text.withUTF8Buffer { text in
                for offset in 0..<count
                where unsafe Grammar.lowercased(bytes[position + offset]) != text[offset] {
                    return false
                }
                return true
            }
            if isNext { position += count }
            return isNext
        }

        mutating func number(_ digits: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<digits {
                guard let next, Grammar.isDigit(next) else { return nil }
                value = value * 10 + Int64(next - UInt8(ascii: "0"))
                position += 1
            }
            return value
        }

        mutating func month() -> Int64? {
            lowercasedMonths.firstIndex { take($0) }.map { Int64($0 + 1) }
        }

        /// Reads a time of day, and returns the time in seconds; second 60 is a leap second.
        mutating func time() -> Int64? {
            guard let hour = number(2), take(":"), let minute = number(2), take(":"),
                let second = number(2), hour < 24, minute < 60, second <= 60
            else { return nil }
            return hour * 3600 + minute * 60 + second
        }
    }

    // Days and civil dates of the proleptic Gregorian calendar (Hinnant, "chrono-Compatible
    // Low-Level Date Algorithms").

    /// Returns the days from 1 January 1970 to a date of the proleptic Gregorian calendar.
    public static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func civil(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64)
    {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthIndex + 2) / 5 + 1)
    }

    private static func append(_ value: Int64, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "0") + UInt8(value / 10))
        text.append(UInt8(ascii: "0") + UInt8(value % 10))
    }
}
