// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// The remaining quota, as a server states it: an item of the field `RateLimit`
/// (draft-ietf-httpapi-ratelimit-headers-11 §4).
///
/// ```swift
/// // RateLimit: "minute";r=0;t=30
/// let used = response.headers.rateLimits.filter { $0.availableQuota == 0 }
/// let wait = used.compactMap(\.effectiveWindow).max()
/// ```
///
/// The statement is a hint: the server may refuse a request although quota is left. A `Retry-After`
/// in the same response has priority (§7, ``/TurnpikeCore/HTTPHeaders/retryAfter(at:)``). In a
/// response from a cache, the limit is as old as the response (§7.3).
public struct ServiceLimit: Sendable, Hashable {
    /// The name of the quota policy that the limit belongs to.
    public let policy: String
    /// How many units of the quota remain (`r`).
    public let availableQuota: Int
    /// After the response, only the available quota may be used within this time (`t`); nil if the
    /// server does not state it.
    public internal(set) var effectiveWindow: Duration?
    /// The owner of the quota, if the server has a quota for each owner (`pk`).
    public internal(set) var partitionKey: Data?
}

extension HTTPHeaders {
    /// The remaining quotas that the server states: the items of the field `RateLimit`
    /// (draft-ietf-httpapi-ratelimit-headers-11 §4).
    ///
    /// The list is empty if the field is missing, or if any part of it is malformed (§7). The
    /// fields of older drafts and the `X-RateLimit-…` fields are not read, because they have no
    /// common meaning: `Reset` is a date on one server, and a number of seconds on another.
    public var rateLimits: [ServiceLimit] {
        guard contains(.rateLimit), let list = StructuredItems(values(of: .rateLimit)) else {
            return []
        }
        return (try? list.items.map { try ServiceLimit($0) }) ?? []
    }
}

extension ServiceLimit {
    fileprivate init(_ item: StructuredItems.Item) throws(StructuredItems.Malformed) {
        guard let available = try item.integer("r") else { throw StructuredItems.Malformed() }
        self.init(
            policy: try item.name(), availableQuota: available,
            effectiveWindow: try item.integer("t").map { .seconds($0) },
            partitionKey: try item.bytes("pk"))
    }
}

/// A limit for the clients of a server: an item of the field `RateLimit-Policy`
/// (draft-ietf-httpapi-ratelimit-headers-11 §3).
///
/// `"hour";q=1000;w=3600` is a quota of 1000 requests in an hour.
struct QuotaPolicy: Hashable {
    let name: String
    /// How many units a client may use in a window (`q`).
    let quota: Int
    /// The counted unit (`qu`): `requests`, `content-bytes` or `concurrent-requests`.
    var unit = "requests"
    /// The window of the quota (`w`); nil if the server does not state it.
    var window: Duration?
    /// The owner of the quota, if the server has several owners (`pk`).
    var partitionKey: Data?
}

extension HTTPHeaders {
    var rateLimitPolicies: [QuotaPolicy] {
        guard contains(.rateLimitPolicy),
            let list = StructuredItems(values(of: .rateLimitPolicy))
        else { return [] }
        return (try? list.items.map { try QuotaPolicy($0) }) ?? []
    }
}

extension QuotaPolicy {
    fileprivate init(_ item: StructuredItems.Item) throws(StructuredItems.Malformed) {
        guard let quota = try item.integer("q") else { throw StructuredItems.Malformed() }
        self.init(
            name: try item.name(), quota: quota, unit: try item.string("qu") ?? "requests",
            window: try item.integer("w", from: 1).map { .seconds($0) },
            partitionKey: try item.bytes("pk"))
    }
}

/// A field that is a list of items with parameters (RFC 9651 §3.1), without inner lists.
struct StructuredItems {
    enum Value: Equatable {
        case integer(Int)
        case string(String)
        case bytes(Data)
        /// A value of a type that none of the supported fields has.
        case other
    }

    /// An item with its parameters (§3.1.2).
    struct Item {
        let value: Value
        private(set) var parameters: [(key: String, value: Value)] = []

        init(_ value: Value) { self.value = value }

        /// The value of a parameter, or nil; if there are several, the last one counts.
        subscript(key: String) -> Value? { parameters.last { $0.key == key }?.value }

        fileprivate mutating func add(_ key: String, _ value: Value) {
            parameters.append((key, value))
        }
    }

    let items: [Item]

    /// Parses the lines of a field (§4.2); nil if a line is malformed, or if there is no line.
    init?(_ lines: [String]) {
        if lines.isEmpty { return nil }
        var reader = Reader(bytes: Array(lines.joined(separator: ", ").utf8))
        guard let items = reader.items(), !items.isEmpty else { return nil }
        self.items = items
    }

    private struct Reader {
        let bytes: [UInt8]
        private var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

        private mutating func take(_ byte: UInt8) -> Bool {
            if next != byte { return false }
            position += 1
            return true
        }

        private mutating func text(_ condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
            let start = position
            while let next, condition(next) { position += 1 }
            return bytes[start..<position]
        }

        private mutating func skip(_ condition: (UInt8) -> Bool) { _ = text(condition) }

        // §4.2.1, with the spaces around the field (§4.2).
        mutating func items() -> [Item]? {
            var items: [Item] = []
            skip { $0 == 0x20 }
            while next != nil {
                guard let item = item() else { return nil }
                items.append(item)
                skip(Grammar.isBlank)
                if next == nil { break }
                guard take(UInt8(ascii: ",")) else { return nil }
                skip(Grammar.isBlank)
                if next == nil { return nil }
            }
            return items
        }

        // §4.2.3
        private mutating func item() -> Item? {
            guard let value = value() else { return nil }
            var item = Item(value)
            while take(UInt8(ascii: ";")) {
                skip { $0 == 0x20 }
                guard let key = key() else { return nil }
                if take(UInt8(ascii: "=")) {
                    guard let value = self.value() else { return nil }
                    item.add(key, value)
                } else {
                    item.add(key, .other)
                }
            }
            return item
        }

        // §4.2.3.3
        private mutating func key() -> String? {
            guard let next, Self.isLowercase(next) || next == UInt8(ascii: "*") else { return nil }
            let key = text {
                Self.isLowercase($0) || Grammar.isDigit($0)
                    || [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "*")]
                        .contains($0)
            }
            return String(decoding: key, as: UTF8.self)
        }

        // §4.2.3.1
        private mutating func value() -> Value? {
            guard let next else { return nil }
            switch next {
            case UInt8(ascii: "\""): return string().map(Value.string)
            case UInt8(ascii: ":"): return binary().map(Value.bytes)
            case UInt8(ascii: "?"):
                position += 1
                return take(UInt8(ascii: "0")) || take(UInt8(ascii: "1")) ? .other : nil
            case UInt8(ascii: "@"):
                position += 1
                if case .integer = number() { return .other }
                return nil
            case UInt8(ascii: "%"): return displayString() ? .other : nil
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
            default: return token() ? .other : nil
            }
        }

        // §4.2.4: at most 15 digits, or at most 12 digits before and 3 digits after a point.
        private mutating func number() -> Value? {
            let sign = take(UInt8(ascii: "-")) ? -1 : 1
            let digits = text(Grammar.isDigit)
            guard !digits.isEmpty, digits.count <= 15 else { return nil }
            if take(UInt8(ascii: ".")) {
                let fraction = text(Grammar.isDigit)
                return digits.count <= 12 && (1...3).contains(fraction.count) ? .other : nil
            }
            return .integer(sign * digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
        }

        // §4.2.5
        private mutating func string() -> String? {
            position += 1
            var text: [UInt8] = []
            while let byte = next {
                position += 1
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let escaped = next, escaped == byte || escaped == UInt8(ascii: "\"")
                    else { return nil }
                    text.append(escaped)
                    position += 1
                case 0x20...0x7E: text.append(byte)
                default: return nil
                }
            }
            return nil
        }

        // §4.2.6
        private mutating func token() -> Bool {
            guard let next, Grammar.isAlphanumeric(next) || next == UInt8(ascii: "*") else {
                return false
            }
            _ = text {
                Grammar.isTokenByte($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/")
            }
            return true
        }

        // §4.2.7. The padding may be missing.
        private mutating func binary() -> Data? {
            position += 1
            let digits = text {
                Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/")
            }
            _ = text { $0 == UInt8(ascii: "=") }
            guard take(UInt8(ascii: ":")) else { return nil }
            let padding = Array(repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
            return Data(base64Encoded: Data(digits + padding))
        }

        // §4.2.10: percent-encoded UTF-8 in quotes.
        private mutating func displayString() -> Bool {
            position += 1
            guard take(UInt8(ascii: "\"")) else { return false }
            var text: [UInt8] = []
            while let byte = next {
                position += 1
                switch byte {
                case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self) != nil
                case UInt8(ascii: "%"):
                    guard position + 2 <= bytes.count, let high = Self.digit(bytes[position]),
                        let low = Self.digit(bytes[position + 1])
                    else { return false }
                    text.append(high * 16 + low)
                    position += 2
                case 0x20...0x7E: text.append(byte)
                default: return false
                }
            }
            return false
        }

        private static func isLowercase(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "a") < 26 }

        // A hexadecimal digit, in lower case (§4.2.10).
        private static func digit(_ byte: UInt8) -> UInt8? {
            if Grammar.isDigit(byte) { return byte - UInt8(ascii: "0") }
            let letter = byte &- UInt8(ascii: "a")
            return letter < 6 ? letter + 10 : nil
        }
    }
}

extension StructuredItems.Item {
    func integer(_ key: String, from bound: Int = 0) throws(StructuredItems.Malformed) -> Int? {
        switch self[key] {
        case nil: return nil
        case .integer(let number) where number >= bound: return number
        default: throw StructuredItems.Malformed()
        }
    }

    func bytes(_ key: String) throws(StructuredItems.Malformed) -> Data? {
        switch self[key] {
        case nil: return nil
        case .bytes(let data): return data
        default: throw StructuredItems.Malformed()
        }
    }

    func string(_ key: String) throws(StructuredItems.Malformed) -> String? {
        switch self[key] {
        case nil: return nil
        case .string(let text): return text
        default: throw StructuredItems.Malformed()
        }
    }

    /// The item's own value, which must be a string.
    func name() throws(StructuredItems.Malformed) -> String {
        guard case .string(let name) = value else { throw StructuredItems.Malformed() }
        return name
    }
}

extension StructuredItems {
    /// An item has a type that the field does not allow, so the field counts as missing.
    struct Malformed: Error {}
}
