public import struct Foundation.Date

/// A date as HTTP writes it (RFC 9110 §5.6.7).
public enum HTTPDate {
    /// Reads any of the three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37
    /// GMT`, `Sun Nov 6 08:49:37 1994`.
    /// - Parameters:
    ///   - text: The text; blanks around it do not count.
    ///   - now: The present, against which a year of two digits is read.
    /// - Returns: The date, or nil where the text is none.
    public static func parse(_ text: String, now: Date) -> Date? {
        let parts = text.split { $0 == " " || $0 == "," || $0 == "-" }
        guard parts.count >= 5 else { return nil }
        // The asctime form has the month behind the day's name and the year at the end.
        if let month = month(parts[1]), parts.count == 5 {
            return date(year: parts[4], month: month, day: parts[2], time: parts[3], now: now)
        }
        guard parts.count == 6, parts[5] == "GMT" || parts[5] == "UTC", let month = month(parts[2])
        else { return nil }
        return date(year: parts[3], month: month, day: parts[1], time: parts[4], now: now)
    }

    /// Writes the preferred form: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public static func format(_ date: Date) -> String {
        // A date that is none is written as the first one.
        let interval = date.timeIntervalSince1970
        let seconds = Int64(interval.isNaN ? 0 : min(max(interval.rounded(.down), -6e10), 2.5e11))
        let days = (seconds - (seconds % 86_400 + 86_400) % 86_400) / 86_400
        let time = seconds - days * 86_400
        let (year, month, day) = civil(daysSince1970: days)
        let weekday = weekdays[Int((days % 7 + 11) % 7)]
        return "\(weekday), \(two(day)) \(months[Int(month) - 1]) \(four(year)) "
            + "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func month(_ text: Substring) -> Int64? {
        months.firstIndex { $0.lowercased() == text.lowercased() }.map { Int64($0 + 1) }
    }

    private static func date(
        year: Substring, month: Int64, day: Substring, time: Substring, now: Date
    ) -> Date? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = digits(clock[0]), let minute = digits(clock[1]),
            let second = digits(clock[2]), let day = digits(day),
            var fullYear = digits(year, upTo: 4),
            hour < 24, minute < 60, second <= 60, (1...31).contains(day)
        else { return nil }
        if year.count == 2 {
            // More than 50 years ahead means the last century (RFC 9110 §5.6.7).
            let present = civil(daysSince1970: Int64(now.timeIntervalSince1970 / 86_400)).year
            fullYear += present / 100 * 100
            if fullYear > present + 50 { fullYear -= 100 }
        }
        guard fullYear >= 1601 else { return nil }
        let days = daysSince1970(year: fullYear, month: month, day: day)
        guard civil(daysSince1970: days) == (fullYear, month, day) else { return nil }
        return Date(
            timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
    }

    private static func digits(_ text: Substring, upTo count: Int = 2) -> Int64? {
        guard !text.isEmpty, text.utf8.count <= count,
            text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 })
        else { return nil }
        return Int64(text)
    }

    // Days and civil dates of the proleptic Gregorian calendar (Hinnant, "chrono-Compatible
    // Low-Level Date Algorithms").
    package static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
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

    private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }

    private static func four(_ value: Int64) -> String {
        let text = "\(value)"
        return String(repeating: "0", count: max(0, 4 - text.count)) + text
    }
}
