// SPDX-License-Identifier: Apache-2.0

/// The parts of a URI reference (RFC 3986 §3 and appendix B), as ranges of bytes in its text.
///
/// This is the only parser of such texts. ``TargetURI`` decides whether the parts are valid.
struct URIParts: Sendable {
    /// Without its colon; nil where the reference has none.
    private(set) var scheme: Range<Int>?
    /// Without the slashes in front of it; nil where the reference has none.
    private(set) var authority: Range<Int>?
    /// User and password, without the `@` behind them.
    private(set) var userInformation: Range<Int>?
    /// Without brackets; empty where there is no authority.
    private(set) var host = 0..<0
    /// Whether brackets make the host an address (§3.2.2).
    private(set) var isBracketed = false
    /// The port's digits, which may be none; nil where there is no colon.
    private(set) var port: Range<Int>?
    /// The path, which may be empty.
    private(set) var path = 0..<0
    /// Without the question mark in front of it.
    private(set) var query: Range<Int>?
    /// Without the number sign in front of it.
    private(set) var fragment: Range<Int>?

    /// Whether a slash and a dot stand in the path, so that it may have dot segments.
    private(set) var mayHaveDotSegments = false

    init(_ text: String) {
        var text = text
        self = text.withUTF8 { unsafe URIParts($0) }
    }

    init<Bytes: RandomAccessCollection<UInt8>>(_ bytes: Bytes) where Bytes.Index == Int {
        let colon = bytes.next(from: 0) { Self.endsAuthority($0) || $0 == UInt8(ascii: ":") }
        var place = 0
        if colon < bytes.count, bytes[colon] == UInt8(ascii: ":") {
            scheme = 0..<colon
            place = colon + 1
        }
        if place + 1 < bytes.count, bytes[place] == UInt8(ascii: "/"),
            bytes[place + 1] == UInt8(ascii: "/")
        {
            let start = place + 2
            place = bytes.next(from: start, where: Self.endsAuthority)
            readAuthority(bytes, start..<place)
        }
        let start = place
        var before: UInt8 = 0
        while place < bytes.count {
            let byte = bytes[place]
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
            if byte == UInt8(ascii: "."), before == UInt8(ascii: "/") { mayHaveDotSegments = true }
            before = byte
            place += 1
        }
        path = start..<place
        if place < bytes.count, bytes[place] == UInt8(ascii: "?") {
            let end = bytes.next(from: place) { $0 == UInt8(ascii: "#") }
            query = (place + 1)..<end
            place = end
        }
        if place < bytes.count { fragment = (place + 1)..<bytes.count }
    }

    // §3.2. The last `@` counts, and the last colon behind it and the brackets.
    private mutating func readAuthority<Bytes: RandomAccessCollection<UInt8>>(
        _ bytes: Bytes, _ range: Range<Int>
    ) where Bytes.Index == Int {
        authority = range
        var start = range.lowerBound
        var colon: Int?
        for place in range {
            switch bytes[place] {
            case UInt8(ascii: "@"):
                userInformation = range.lowerBound..<place
                start = place + 1
                colon = nil
            case UInt8(ascii: "]"): colon = nil
            case UInt8(ascii: ":"): colon = place
            default: break
            }
        }
        let end = colon ?? range.upperBound
        port = colon.map { ($0 + 1)..<range.upperBound }
        isBracketed = start < range.upperBound && bytes[start] == UInt8(ascii: "[")
        host = isBracketed ? (start + 1)..<max(start + 1, end - 1) : start..<end
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
}

extension RandomAccessCollection<UInt8> where Index == Int {
    // The first place from one on where a byte is such a one, or the end.
    fileprivate func next(from start: Int, where isFound: (UInt8) -> Bool) -> Int {
        var place = start
        while place < endIndex, !isFound(self[place]) { place += 1 }
        return place
    }
}
