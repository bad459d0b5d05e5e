package import Foundation

/// The scheme and authority of a URL in the form that most have: `http` or `https`, a host in lower
/// case, perhaps a port; no user information, and nothing to decode.
///
/// It tells in one look at the text what costs several times as much to ask `URL` for. A URL of
/// another form has none, and is asked.
package struct PlainAuthority {
    package let port: Int?
    package let isSecure: Bool
    private let text: String
    private let place: Range<Int>

    package init?(_ url: URL) {
        let text = url.absoluteString
        let found = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe Self.read($0) }
        guard let found = found ?? nil else { return nil }
        self.text = text
        (place, port, isSecure) = (found.host, found.port, found.isSecure)
    }

    package var host: String {
        let host = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe String(unsafeUninitializedCapacity: place.count) { target in
                unsafe target.initialize(fromContentsOf: bytes[place])
            }
        }
        return host ?? ""
    }

    private struct Found {
        let host: Range<Int>
        let port: Int?
        let isSecure: Bool
    }

    private static func read(_ text: UnsafeBufferPointer<UInt8>) -> Found? {
        guard text.count > 8, let first = text.baseAddress else { return nil }
        let isSecure = unsafe memcmp(first, "https://", 8) == 0
        guard unsafe isSecure || memcmp(first, "http://", 7) == 0 else { return nil }
        let start = isSecure ? 8 : 7
        var end = start
        var isName = false
        while end < text.count {
            let byte = unsafe text[end]
            if byte &- UInt8(ascii: "a") < 26 || Grammar.isDigit(byte) {
                isName = true
            } else if byte != UInt8(ascii: "."), byte != UInt8(ascii: "-"),
                byte != UInt8(ascii: "_")
            {
                break
            }
            end += 1
        }
        guard isName else { return nil }
        var rest = end
        var port: Int?
        if rest < text.count, unsafe text[rest] == UInt8(ascii: ":") {
            var number = 0
            rest += 1
            while rest < text.count, unsafe Grammar.isDigit(text[rest]) {
                number = unsafe number * 10 + Int(text[rest] &- UInt8(ascii: "0"))
                if number > 65535 { return nil }
                rest += 1
            }
            if number == 0 { return nil }
            port = number
        }
        if rest < text.count {
            switch unsafe text[rest] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break
            default: return nil
            }
        }
        return Found(host: start..<end, port: port, isSecure: isSecure)
    }
}
