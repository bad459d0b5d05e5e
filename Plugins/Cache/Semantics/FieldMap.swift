import TurnpikeCore

/// Where the fields stand that a cache goes by, found in one pass over a section.
struct FieldMap {
    /// The fields.
    enum Known: Int {
        case age, vary, date, eTag, pragma, expires, connection, setCookie, lastModified
        case cacheControl, contentEncoding
        /// Another one that is about one connection (RFC 9110 §7.6.1), or about a proxy.
        case aboutConnection
    }

    // -1 where there is none.
    private var places = SIMD16<Int32>(repeating: -1)
    private var repeated: UInt16 = 0

    init(_ headers: HTTPHeaders) {
        for index in headers.fields.indices {
            if let known = Self.known(headers.fields[index].name) { note(known, at: index) }
        }
    }

    /// Creates the map of an empty section.
    init() {}

    /// Notes what stands behind all that was noted before.
    mutating func note(_ known: Known, at index: Int) {
        if places[known.rawValue] < 0 {
            places[known.rawValue] = Int32(clamping: index)
        } else {
            repeated |= 1 << UInt16(known.rawValue)
        }
    }

    /// Forgets a field that has one line, which leaves the section.
    mutating func remove(_ known: Known) {
        let place = places[known.rawValue]
        places[known.rawValue] = -1
        places.replace(with: places &- 1, where: places .> place)
    }

    /// Where a field has one line, and no more.
    func place(ofOnly known: Known) -> Int? {
        contains(known) && !isRepeated(known) ? Int(places[known.rawValue]) : nil
    }

    /// Whether there is a field.
    func contains(_ known: Known) -> Bool { places[known.rawValue] >= 0 }

    /// The first line of a field in the section that the map is of.
    func first(_ known: Known, in headers: HTTPHeaders) -> String? {
        contains(known) ? headers.fields[Int(places[known.rawValue])].value : nil
    }

    /// The line of a field that has no more than one.
    func only(_ known: Known, in headers: HTTPHeaders) -> String? {
        isRepeated(known) ? nil : first(known, in: headers)
    }

    /// Does something with each line of a field, in order.
    func forEachLine<Failure>(
        of known: Known, in headers: HTTPHeaders, _ action: (String) throws(Failure) -> Void
    ) throws(Failure) {
        if !isRepeated(known) {
            if let line = first(known, in: headers) { try action(line) }
            return
        }
        for field in headers.fields where Self.known(field.name) == known {
            try action(field.value)
        }
    }

    private func isRepeated(_ known: Known) -> Bool {
        repeated & 1 << UInt16(known.rawValue) != 0
    }

    /// Which of the fields a name is.
    static func known(_ name: HTTPHeaders.Name) -> Known? {
        let count = name.rawValue.utf8.count
        if count > 16 { return aboutConnection(name, count) }
        // Names of most lengths are none of these.
        guard lengths & 1 << count != 0, let short = ShortName(name.rawValue) else { return nil }
        switch count {
        case 2: return short == Names.te ? .aboutConnection : nil
        case 3: return short == Names.age ? .age : nil
        case 4:
            return short == Names.date
                ? .date : short == Names.eTag ? .eTag : short == Names.vary ? .vary : nil
        case 6: return short == Names.pragma ? .pragma : nil
        case 7:
            return short == Names.expires
                ? .expires : short == Names.upgrade ? .aboutConnection : nil
        case 10:
            return short == Names.connection
                ? .connection
                : short == Names.setCookie
                    ? .setCookie : short == Names.keepAlive ? .aboutConnection : nil
        case 13:
            return short == Names.cacheControl
                ? .cacheControl : short == Names.lastModified ? .lastModified : nil
        case 16:
            return short == Names.contentEncoding
                ? .contentEncoding : short == Names.proxyConnection ? .aboutConnection : nil
        default: return nil
        }
    }

    private static let lengths =
        1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 13 | 1 << 16

    private static func aboutConnection(_ name: HTTPHeaders.Name, _ count: Int) -> Known? {
        switch count {
        case 17: name == .transferEncoding ? .aboutConnection : nil
        case 18: name == .proxyAuthenticate ? .aboutConnection : nil
        case 19: name == .proxyAuthorization ? .aboutConnection : nil
        case 25: name == "Proxy-Authentication-Info" ? .aboutConnection : nil
        default: nil
        }
    }

    private enum Names {
        static let te = ShortName("te")
        static let age = ShortName("age")
        static let date = ShortName("date")
        static let eTag = ShortName("etag")
        static let vary = ShortName("vary")
        static let pragma = ShortName("pragma")
        static let expires = ShortName("expires")
        static let upgrade = ShortName("upgrade")
        static let connection = ShortName("connection")
        static let setCookie = ShortName("set-cookie")
        static let keepAlive = ShortName("keep-alive")
        static let cacheControl = ShortName("cache-control")
        static let lastModified = ShortName("last-modified")
        static let contentEncoding = ShortName("content-encoding")
        static let proxyConnection = ShortName("proxy-connection")
    }
}
