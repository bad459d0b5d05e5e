public import Foundation
public import TurnpikeCore

/// What a stored response is found by: method, normalised URL, and whose it is.
///
/// The variants of `Vary` stand below a key. Scheme and host are in lower case, and the fragment,
/// the user information and a port that is the scheme's own are left out, so that they make no
/// second entry; path and query stay to the byte, since a server may tell apart what looks equal.
public struct CacheKey: Sendable {
    // It is looked up half a dozen times in a call: its parts are hashed once.
    private let hash: Int

    /// The method; `GET` in entries that the gate makes.
    public let method: HTTPMethod
    /// The normalised URL.
    public let url: String
    /// Whose responses they are; nil for what all callers share.
    public let partition: String?

    /// The longest URL that is cached, in bytes.
    static let maxURLBytes = 8192

    /// Creates a key of parts.
    public init(method: HTTPMethod = .get, url: String, partition: String? = nil) {
        self.method = method
        self.url = url
        self.partition = partition
        var hasher = Hasher()
        hasher.combine(method)
        hasher.combine(url)
        hasher.combine(partition)
        hash = hasher.finalize()
    }

    /// Creates the key of a URL, or nil where it is not http or https, or longer than 8 KiB.
    public init?(method: HTTPMethod = .get, _ url: URL, partition: String? = nil) {
        guard let text = Self.text(of: url), text.utf8.count <= Self.maxURLBytes else { return nil }
        self.init(method: method, url: text, partition: partition)
    }

    /// The normalised text of an http or https URL, however long; nil for another one.
    static func text(of url: URL) -> String? {
        let address = url.absoluteString
        return isNormal(address) ? address : normalised(url, address)
    }

    private static func normalised(_ url: URL, _ text: String) -> String? {
        guard let origin = Origin(url) else { return nil }
        let rest = afterAuthority(text).prefix { $0 != UInt8(ascii: "#") }
        return origin.description + (rest.first == UInt8(ascii: "/") ? "" : "/")
            + String(Substring(rest))
    }

    // Whether a text is its own normal form, as nearly all are: a scheme and a host in lower case, a
    // port that is not the scheme's own, a path, and neither user information nor fragment, within
    // the bound. Where in doubt it is not.
    private static func isNormal(_ text: String) -> Bool {
        unsafe text.utf8.withContiguousStorageIfAvailable { unsafe isNormal(bytes: $0) } ?? false
    }

    private static func isNormal(bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        if bytes.count > maxURLBytes { return false }
        guard bytes.count > 8, let first = bytes.baseAddress,
            unsafe memcmp(first, "http", 4) == 0
        else { return false }
        let isSecure = unsafe bytes[4] == UInt8(ascii: "s")
        let start = isSecure ? 8 : 7
        guard unsafe memcmp(first + start - 3, "://", 3) == 0 else { return false }
        var position = start
        var port: Int?
        scan: while true {
            if position == bytes.count { return false }
            let byte = unsafe bytes[position]
            switch byte {
            case UInt8(ascii: "/"): break scan
            case UInt8(ascii: ":"):
                if position == start || port != nil { return false }
                port = 0
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if let digits = port {
                    port = digits * 10 + Int(byte - UInt8(ascii: "0"))
                    // A zero in front makes another text of the same number.
                    if port == 0 || port ?? 0 > 65_535 { return false }
                }
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."):
                if port != nil { return false }
            default: return false
            }
            position += 1
        }
        if position == start || port == 0 || port == (isSecure ? 443 : 80) { return false }
        return unsafe memchr(
            first + position, CInt(UInt8(ascii: "#")), bytes.count - position) == nil
    }

    /// The user information of a URL's text.
    static func userInformation(_ text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return nil }
        let authority = text.utf8[..<afterAuthority(text).startIndex]
        guard let end = authority.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        return String(Substring(authority[..<end]))
    }

    // Path, query and fragment.
    private static func afterAuthority(_ text: String) -> Substring.UTF8View {
        let utf8 = text[...].utf8
        guard let colon = utf8.firstIndex(of: UInt8(ascii: ":")),
            let start = utf8.index(colon, offsetBy: 3, limitedBy: utf8.endIndex)
        else { return utf8 }
        return utf8[start...].drop { byte in
            byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
        }
    }
}

extension CacheKey: Hashable {
    /// Whether method, URL and partition are the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.hash == right.hash && Grammar.areSame(left.url, right.url)
            && left.method == right.method && Grammar.areSame(left.partition, right.partition)
    }

    /// Feeds the key to a hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension CacheKey: CustomStringConvertible {
    /// Method and URL, without secrets.
    public var description: String { "\(method) \(Redaction.standard.url(url))" }
}

/// A short name of a text that does not tell the text.
enum Digest {
    static func text(_ text: String) -> String {
        SHA256.digest(Data(text.utf8)).prefix(16).hexadecimal
    }
}
