// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// An item of the field `RateLimit` with a remaining quota (draft-ietf-httpapi-ratelimit-headers-11
/// §4).
///
/// ```swift
/// // RateLimit: "minute";r=0;t=30
/// let used = response.headers.rateLimits.filter { $0.availableQuota == 0 }
/// let wait = used.compactMap(\.effectiveWindow).max()
/// ```
///
/// The field is a hint. The server may refuse a request although quota remains. A `Retry-After` in
/// the same response has priority (draft §7, ``/TurnpikeCore/HTTPHeaders/retryAfter(at:)``). In a
/// response from a cache, the quota is as old as the response (draft §7.3).
public struct ServiceLimit: Sendable, Hashable {
    /// The name of the quota policy of the limit.
    public let policy: String
    /// The number of remaining units of the quota (`r`).
    public let availableQuota: Int
    /// The time after the response in which only the available quota may be used (`t`); nil if the
    /// server does not state this time.
    public internal(set) var effectiveWindow: Duration?
    /// The owner of the quota (`pk`), or nil.
    public internal(set) var partitionKey: Data?
}

extension HTTPHeaders {
    /// The items of the field `RateLimit` with remaining quotas
    /// (draft-ietf-httpapi-ratelimit-headers-11 §4).
    ///
    /// The list is empty if the field is missing or any part of the field is malformed (draft §7).
    /// The fields of older drafts and the `X-RateLimit-…` fields are not read, because they have no
    /// common meaning. `Reset` is a date on one server and a number of seconds on another server.
    public var rateLimits: [ServiceLimit] {
        QuotaItem.all(in: values(of: .rateLimit)) { item throws(QuotaItem.Malformed) in
            ServiceLimit(
                policy: item.name, availableQuota: try item.requiredInteger("r"),
                effectiveWindow: try item.integer("t").map { .seconds($0) },
                partitionKey: try item.bytes("pk"))
        }
    }

    var rateLimitPolicies: [QuotaPolicy] {
        QuotaItem.all(in: values(of: .rateLimitPolicy)) { item throws(QuotaItem.Malformed) in
            QuotaPolicy(
                name: item.name, quota: try item.requiredInteger("q"),
                unit: try item.string("qu") ?? "requests",
                window: try item.integer("w", from: 1).map { .seconds($0) },
                partitionKey: try item.bytes("pk"))
        }
    }
}

/// An item of the field `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11 §3).
///
/// `"hour";q=1000;w=3600` is a quota of 1000 requests in an hour.
struct QuotaPolicy: Hashable {
    let name: String
    /// The number of units that a client may use in a window (`q`).
    let quota: Int
    /// The counted unit (`qu`): `requests`, `content-bytes` or `concurrent-requests`.
    var unit = "requests"
    /// The window of the quota (`w`), or nil.
    var window: Duration?
    /// The owner of the quota (`pk`), or nil.
    var partitionKey: Data?
}

/// An item of a list of strings with parameters (RFC 9651 §3.1).
///
/// Values of types that the quota fields do not use are skipped without a check.
private struct QuotaItem {
    enum Value {
        case integer(Int)
        case string(String)
        case bytes(Data)
        case other
    }

    // The error of an item or a parameter with a wrong type. The field then counts as missing.
    struct Malformed: Error {}

    var name: String
    // If a parameter occurs twice, the last value is used (RFC 9651 §4.2.3.2).
    var parameters: [String: Value] = [:]

    /// Reads the lines of a field, or returns an empty list if any part is malformed.
    static func all<Item>(
        in lines: [String], _ make: (QuotaItem) throws(Malformed) -> Item
    ) -> [Item] {
        if lines.isEmpty { return [] }
        var reader = QuotaFieldReader(bytes: Array(lines.joined(separator: ", ").utf8))
        return (try? reader.items().map(make)) ?? []
    }

    func integer(_ key: String, from bound: Int = 0) throws(Malformed) -> Int? {
        guard let value = parameters[key] else { return nil }
        guard case .integer(let number) = value, number >= bound else { throw Malformed() }
        return number
    }

    func requiredInteger(_ key: String) throws(Malformed) -> Int {
        guard let number = try integer(key) else { throw Malformed() }
        return number
    }

    func string(_ key: String) throws(Malformed) -> String? {
        guard let value = parameters[key] else { return nil }
        guard case .string(let text) = value else { throw Malformed() }
        return text
    }

    func bytes(_ key: String) throws(Malformed) -> Data? {
        guard let value = parameters[key] else { return nil }
        guard case .bytes(let data) = value else { throw Malformed() }
        return data
    }
}

private struct QuotaFieldReader {
    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        if next != byte { return false }
        position += 1
        return true
    }

    @discardableResult
    private mutating func text(_ condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        while let next, condition(next) { position += 1 }
        return bytes[start..<position]
    }

    // Parses a list (RFC 9651 §4.2.1) with the spaces around the field (RFC 9651 §4.2).
    mutating func items() throws(QuotaItem.Malformed) -> [QuotaItem] {
        text { $0 == 0x20 }
        var items = [try item()]
        text(Grammar.isBlank)
        while take(UInt8(ascii: ",")) {
            text(Grammar.isBlank)
            items.append(try item())
            text(Grammar.isBlank)
        }
        if next != nil { throw QuotaItem.Malformed() }
        return items
    }

    // Parses an item (RFC 9651 §4.2.3).
    private mutating func item() throws(QuotaItem.Malformed) -> QuotaItem {
        guard case .string(let name) = try value() else { throw QuotaItem.Malformed() }
        var item = QuotaItem(name: name)
        while take(UInt8(ascii: ";")) {
            text { $0 == 0x20 }
            let key = try self.key()
            item.parameters[key] = take(UInt8(ascii: "=")) ? try value() : .other
        }
        return item
    }

    // Parses a key (RFC 9651 §4.2.3.3).
    private mutating func key() throws(QuotaItem.Malformed) -> String {
        let key = text {
            $0 &- UInt8(ascii: "a") < 26 || Grammar.isDigit($0) || "_-.*".utf8.contains($0)
        }
        guard let first = key.first, first == UInt8(ascii: "*") || first >= UInt8(ascii: "a") else {
            throw QuotaItem.Malformed()
        }
        return String(decoding: key, as: UTF8.self)
    }

    // Parses a bare item (RFC 9651 §4.2.3.1).
    private mutating func value() throws(QuotaItem.Malformed) -> QuotaItem.Value {
        if take(UInt8(ascii: "\"")) { return .string(try string()) }
        if take(UInt8(ascii: ":")) { return .bytes(try binary()) }
        if take(UInt8(ascii: "%")) {
            guard take(UInt8(ascii: "\"")) else { throw QuotaItem.Malformed() }
            _ = try string()
            return .other
        }
        // The value is a number or has another type, which ends like a token (RFC 9651 §4.2.6).
        let text = self.text { Grammar.isTokenByte($0) || ":/?@".utf8.contains($0) }
        if text.isEmpty { throw QuotaItem.Malformed() }
        // A number has at most 15 digits (RFC 9651 §4.2.4).
        let digits = text.first == UInt8(ascii: "-") ? text.dropFirst() : text
        guard (1...15).contains(digits.count), digits.allSatisfy(Grammar.isDigit) else {
            return .other
        }
        return .integer(Int(String(decoding: text, as: UTF8.self)) ?? 0)
    }

    // Parses a string (RFC 9651 §4.2.5).
    private mutating func string() throws(QuotaItem.Malformed) -> String {
        var text: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = next, escaped == byte || escaped == UInt8(ascii: "\"") else {
                    throw QuotaItem.Malformed()
                }
                text.append(escaped)
                position += 1
            case 0x20...0x7E: text.append(byte)
            default: throw QuotaItem.Malformed()
            }
        }
        throw QuotaItem.Malformed()
    }

    // Parses a byte sequence (RFC 9651 §4.2.7). The padding may be missing.
    private mutating func binary() throws(QuotaItem.Malformed) -> Data {
        let digits = text {
            Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/")
        }
        text { $0 == UInt8(ascii: "=") }
        let padding = Array(repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
        guard take(UInt8(ascii: ":")), let data = Data(base64Encoded: Data(digits + padding)) else {
            throw QuotaItem.Malformed()
        }
        return data
    }
}
