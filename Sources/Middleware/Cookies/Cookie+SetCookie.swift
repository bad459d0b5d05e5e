// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
public import TurnpikeSupport

extension Cookie {
    /// Parses a `Set-Cookie` line (RFC 6265bis §5.6 and §5.7).
    ///
    /// If the user agent must ignore the cookie, the result is nil. If the line removes a cookie,
    /// the result is an expired cookie.
    /// - Parameters:
    ///   - line: The value of the line.
    ///   - url: The URL of the response.
    ///   - date: The current date.
    ///   - suffixes: The public suffixes. A `Domain` must be the registrable domain of the host, or
    ///     a subdomain of the registrable domain. If the list is empty, the cookie is sent only to
    ///     the host that set the cookie.
    public init?(
        setCookie line: String, from url: URL, at date: Date,
        suffixes: PublicSuffixes = .standard
    ) {
        let uri = TargetURI(url)
        guard let origin = uri.origin, Grammar.firstIllegalValueByte(line) == nil else {
            return nil
        }
        let pieces = CookieItem.pieces(line, limit: 64)
        guard let first = pieces.first else { return nil }
        // If there is no equals sign, the whole text is the value (RFC 6265bis §5.6).
        let name = first.value == nil ? "" : first.name
        let attributes = SetCookieAttributes(pieces.dropFirst(), at: date)
        let reach =
            attributes.domain.isEmpty
            ? .host : suffixes.reach(of: attributes.domain, setBy: origin.host)
        guard let reach else { return nil }
        let (domain, isHostOnly) =
            if case .domain(let domain) = reach { (domain, false) } else { (origin.host, true) }
        if attributes.isSecure, origin.scheme != "https" { return nil }
        let hasOwnPath = attributes.path.utf8.first == UInt8(ascii: "/")
        // The prefix `__Host-` requires the attribute `Path`, even if the path is the root, and
        // forbids `Domain`.
        let isHosts = Grammar.equalsIgnoringCase(String(name.prefix(7)), "__host-")
        if isHosts, !hasOwnPath || !attributes.domain.isEmpty { return nil }
        do {
            try self.init(
                name: name, value: first.value ?? first.name, domain: domain,
                isHostOnly: isHostOnly,
                path: hasOwnPath ? attributes.path : CookieRules.defaultPath(of: uri),
                expires: attributes.expires, isSecure: attributes.isSecure,
                isHTTPOnly: attributes.isHTTPOnly, sameSite: attributes.sameSite, created: date)
        } catch {
            return nil
        }
    }
}

/// If a `Set-Cookie` line has several attributes with the same name, the last attribute counts.
private struct SetCookieAttributes {
    var domain = ""
    var path = ""
    var expires: Date? { maxAge ?? expiresDate }
    var isSecure = false
    var isHTTPOnly = false
    var sameSite: Cookie.SameSite?
    private var maxAge: Date?
    private var expiresDate: Date?

    // A cookie lives at most 400 days (RFC 6265bis §5.5).
    private static let longest: Int64 = 400 * 86_400

    init(_ pieces: some Sequence<CookieItem>, at date: Date) {
        for piece in pieces {
            let value = piece.value ?? ""
            guard value.utf8.count <= 1024 else { continue }
            switch piece.name.lowercased() {
            case "expires":
                guard let parsed = CookieDate.parse(value) else { continue }
                expiresDate = min(parsed, date.addingTimeInterval(Double(Self.longest)))
            case "max-age": maxAge = Self.end(afterSeconds: value, from: date) ?? maxAge
            case "domain":
                let isDotted = value.utf8.first == UInt8(ascii: ".") && value.utf8.count > 1
                domain = (isDotted ? String(Substring(value.utf8.dropFirst())) : value).lowercased()
            case "path": path = value
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            case "samesite": sameSite = Self.sameSite(value)
            default: break
            }
        }
    }

    private static func end(afterSeconds text: String, from date: Date) -> Date? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let digits = text.utf8.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else {
            return nil
        }
        if isNegative { return .distantPast }
        // A number that does not fit into 64 bits is also larger than the maximum.
        let seconds = min(Int64(Substring(digits)) ?? longest, longest)
        return seconds == 0 ? .distantPast : date.addingTimeInterval(Double(seconds))
    }

    private static func sameSite(_ value: String) -> Cookie.SameSite? {
        [Cookie.SameSite.strict, .lax, .none].first {
            Grammar.equalsIgnoringCase($0.rawValue, value)
        }
    }
}

/// Parses the `Expires` date of a cookie, as leniently as RFC 6265bis §5.1.1 requires.
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
        // A day beyond the end of the month is refused, because `HTTPDate` would count the day as
        // part of the next month.
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

    // Reads the digits at the beginning of the bytes, and ignores other bytes after the digits.
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
