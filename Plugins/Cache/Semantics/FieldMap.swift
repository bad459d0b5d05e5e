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
        var index: Int32 = 0
        for field in headers.fields {
            defer { index += 1 }
            guard let known = Self.known(field.name) else { continue }
            if places[known.rawValue] < 0 {
                places[known.rawValue] = index
            } else {
                repeated |= 1 << UInt16(known.rawValue)
            }
        }
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

    /// All lines of a field, in order.
    func lines(_ known: Known, in headers: HTTPHeaders) -> [String] {
        if isRepeated(known) {
            return headers.fields.filter { Self.known($0.name) == known }.map(\.value)
        }
        return first(known, in: headers).map { [$0] } ?? []
    }

    private func isRepeated(_ known: Known) -> Bool {
        repeated & 1 << UInt16(known.rawValue) != 0
    }

    /// Which of the fields a name is.
    ///
    /// Each field of each message comes by here: its length rules out nearly all.
    static func known(_ name: HTTPHeaders.Name) -> Known? {
        switch name.rawValue.utf8.count {
        case 2: name == .te ? .aboutConnection : nil
        case 3: name == .age ? .age : nil
        case 4: name == .date ? .date : name == .eTag ? .eTag : name == .vary ? .vary : nil
        case 6: name == .pragma ? .pragma : nil
        case 7: name == .expires ? .expires : name == .upgrade ? .aboutConnection : nil
        case 10:
            name == .connection
                ? .connection
                : name == .setCookie ? .setCookie : name == .keepAlive ? .aboutConnection : nil
        case 13:
            name == .cacheControl ? .cacheControl : name == .lastModified ? .lastModified : nil
        case 16:
            name == .contentEncoding
                ? .contentEncoding : name == "Proxy-Connection" ? .aboutConnection : nil
        case 17: name == .transferEncoding ? .aboutConnection : nil
        case 18: name == .proxyAuthenticate ? .aboutConnection : nil
        case 19: name == .proxyAuthorization ? .aboutConnection : nil
        case 25: name == "Proxy-Authentication-Info" ? .aboutConnection : nil
        default: nil
        }
    }
}
