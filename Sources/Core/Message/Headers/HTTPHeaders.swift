// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The fields of a header or trailer section (RFC 9110 §5).
///
/// The fields are ordered. Names are compared without regard to case, and have their original
/// spelling. A name may have several values.
///
/// ```swift
/// var headers: HTTPHeaders = ["Accept": "application/json"]
/// headers[.acceptLanguage] = "en"
/// headers.append("X-Trace", "a")
/// ```
///
/// The section never contains a name that is not a token. The section never contains a value with
/// CR, LF, NUL or another control character. The first rejected field becomes the ``defect``. If a
/// request has a defect, the request fails with ``ClientError/Code/invalidRequest`` before anything
/// is sent. Printed text contains no secrets (``Redaction/standard``).
public struct HTTPHeaders: Sendable {
    /// One field line.
    public struct Field: Hashable, Sendable {
        /// The field name with its original spelling.
        public let name: Name
        /// The field value without surrounding whitespace.
        public let value: String

        /// Whether the names are equal, ignoring case, and the values have the same bytes.
        public static func == (left: Self, right: Self) -> Bool {
            left.name == right.name && Grammar.areSame(left.value, right.value)
        }
    }

    var fields: [Field] = []

    /// The fault of the first rejected field, without the value of the field, or nil.
    public private(set) var defect: String?

    /// Whether a peer sent a value that must not be sent to another peer.
    private(set) var hasUnsendableValue = false

    /// Creates an empty section.
    public init() {}

    init(received fields: [Field]) { self.fields = fields }

    /// Creates a section of fields in order; an invalid field becomes the ``defect``.
    public init(_ pairs: some Sequence<(String, String)>) {
        for (name, value) in pairs { append(Name(name), value) }
    }

    /// The value of a field, or nil if the section has no field with this name.
    ///
    /// Several lines with the same name are joined with a comma (RFC 9110 §5.3), or with a
    /// semicolon for `Cookie` (RFC 9113 §8.2.3). For `Set-Cookie`, use ``values(of:)`` instead. A
    /// new value replaces all lines with the name, at the position of the first line. The value nil
    /// removes all lines with the name.
    public subscript(name: Name) -> String? {
        get {
            guard let first = fields.firstIndex(where: { $0.name == name }) else { return nil }
            var line = fields[first].value
            for field in fields[(first + 1)...] where field.name == name {
                line += name.separator + field.value
            }
            return line
        }
        set {
            guard let newValue else { return remove(name) }
            guard let field = checked(name, newValue) else { return }
            guard let first = fields.firstIndex(where: { $0.name == name }) else {
                fields.append(field)
                return
            }
            fields[first] = field
            guard fields[(first + 1)...].contains(where: { $0.name == name }) else { return }
            let rest = fields[(first + 1)...].filter { $0.name != name }
            fields.replaceSubrange((first + 1)..., with: rest)
        }
    }

    /// Returns the values of all lines of a name, in order.
    public func values(of name: Name) -> [String] {
        fields.lazy.filter { $0.name == name }.map(\.value)
    }

    /// Returns the value of the first line of a name, or nil.
    public func first(_ name: Name) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// Whether the section has a field with this name.
    public func contains(_ name: Name) -> Bool { fields.contains { $0.name == name } }

    /// Appends a field line; an invalid line becomes the ``defect``.
    public mutating func append(_ name: Name, _ value: String) {
        if let field = checked(name, value) { fields.append(field) }
    }

    /// Appends a field line that a peer sent.
    ///
    /// If the name is not a token, or the value contains CR, LF or NUL, the line becomes a
    /// ``defect``. Other control characters are allowed in a received line (RFC 9110 §5.5), but not
    /// in a request.
    public mutating func appendReceived(_ name: Name, _ value: String) {
        if Self.fault(name, value) != nil {
            let isSplitting = value.utf8.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D }
            if isSplitting || !Grammar.isToken(name.rawValue) { return append(name, value) }
            hasUnsendableValue = true
        }
        fields.append(Field(name: name, value: Grammar.trimmed(value)))
    }

    /// Reserves space for a number of field lines.
    public mutating func reserveCapacity(_ count: Int) { fields.reserveCapacity(count) }

    /// The reason why the section cannot be sent, or nil.
    public var sendingFault: String? {
        if let defect { return defect }
        guard hasUnsendableValue else { return nil }
        return fields.lazy.compactMap { Self.fault($0.name, $0.value) }.first
    }

    /// Sets a field if the section has no field with this name.
    public mutating func setIfAbsent(_ name: Name, _ value: @autoclosure () -> String) {
        if !contains(name) { append(name, value()) }
    }

    /// Removes all lines of a name.
    public mutating func remove(_ name: Name) { fields.removeAll { $0.name == name } }

    /// Removes all fields that satisfy a condition.
    public mutating func removeAll(where condition: (Field) throws -> Bool) rethrows {
        try fields.removeAll(where: condition)
    }

    /// The size of the section in HTTP/1.1: names, values, and four bytes for each line.
    public var byteCount: Int {
        fields.reduce(0) { $0 + $1.name.rawValue.utf8.count + $1.value.utf8.count + 4 }
    }

    private mutating func checked(_ name: Name, _ value: String) -> Field? {
        if let fault = Self.fault(name, value) {
            if defect == nil { defect = fault }
            return nil
        }
        return Field(name: name, value: Grammar.trimmed(value))
    }

    private static func fault(_ name: Name, _ value: String) -> String? {
        if !Grammar.isToken(name.rawValue) {
            return "the header name \"\(Grammar.escaped(name.rawValue, upTo: 64))\""
                + " is not a token (RFC 9110 §5.6.2); use letters, digits and hyphens"
        }
        if let position = Grammar.firstIllegalValueByte(value) {
            return "the value of header \"\(name.rawValue)\" has a control character at byte"
                + " \(position); remove CR, LF, NUL and the like"
        }
        return nil
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The index of the first field.
    public var startIndex: Int { fields.startIndex }
    /// The index after the last field.
    public var endIndex: Int { fields.endIndex }
    /// The field at a position.
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: Hashable {
    /// Whether both sections have the same fields in the same order, ignoring the case of names.
    public static func == (left: Self, right: Self) -> Bool {
        left.fields == right.fields && left.defect == right.defect
    }

    /// Hashes the fields.
    public func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Creates a section of fields in order; an invalid field becomes the ``defect``.
    public init(dictionaryLiteral elements: (Name, String)...) {
        for (name, value) in elements { append(name, value) }
    }
}

extension HTTPHeaders.Name {
    // A comma (RFC 9110 §5.3), or a semicolon for cookies (RFC 6265 §5.4, RFC 9113 §8.2.3).
    fileprivate var separator: String { self == .cookie ? "; " : ", " }
}

extension HTTPHeaders {
    /// Returns the wait that `Retry-After` asks for, in seconds or until a date (RFC 9110 §10.2.3).
    ///
    /// ```swift
    /// let (job, response) = try await client.get("jobs/7").decoded(Job.self)
    /// let wait = response.headers.retryAfter(at: Date()) ?? .seconds(5)
    /// ```
    ///
    /// If a call failed, ``ClientError/retryAfter`` has the same value.
    /// - Parameter now: The current time, to which a date is compared. Use `Date()` or, in a gate,
    ///   ``TimeSource/date``.
    /// - Returns: The wait. If the date is in the past, the wait is zero. If there are several
    ///   values, the longest wait is returned. If no value is valid, the result is nil. More than
    ///   1,000,000,000 seconds count as 1,000,000,000 seconds.
    public func retryAfter(at now: Date) -> Duration? {
        guard contains(.retryAfter) else { return nil }
        return values(of: .retryAfter).compactMap { value -> Duration? in
            if let date = HTTPDate.parse(value, now: now) {
                // If `now` is not a number, the result is not a number.
                let seconds = date.timeIntervalSince(now)
                return seconds > 0 ? .seconds(Swift.min(seconds, 1e12)) : .zero
            }
            return value.split(separator: ",").compactMap { Self.delay(Grammar.trimmed($0)) }.max()
        }.max()
    }

    // A number of more than 64 bits means a very long time, and is not an error.
    private static func delay(_ text: Substring) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy(Grammar.isDigit) else { return nil }
        return .seconds(Swift.min(Int64(text) ?? .max, 1_000_000_000))
    }
}
