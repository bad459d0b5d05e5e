/// The fields of a header or trailer section (RFC 9110 §5): ordered, names case-insensitive,
/// several values for a name, spelling kept.
///
/// ```swift
/// var headers: HTTPHeaders = ["Accept": "application/json"]
/// headers[.acceptLanguage] = "en"
/// headers.append("X-Trace", "a")
/// ```
///
/// A name that is not a token, or a value with CR, LF, NUL or another control character, is never
/// stored. A subscript cannot throw, so it records a ``Defect``; a request with one fails as
/// ``ClientError/Code/invalidRequest`` before anything is sent. ``init(validating:)`` and
/// ``add(_:_:)`` report at once. Printing redacts secrets (``Redaction/standard``).
public struct HTTPHeaders: Sendable {
    /// One field line.
    public struct Field: Hashable, Sendable {
        /// The field's name, spelled as it was given.
        public let name: Name
        /// The field's value, without blanks around it.
        public let value: String

        /// Whether the values are the same bytes, and so are the names when case is ignored.
        public static func == (left: Self, right: Self) -> Bool {
            left.name == right.name && Grammar.areSame(left.value, right.value)
        }
    }

    /// What was wrong with the first field that was refused.
    ///
    /// It never holds the value.
    public struct Defect: Hashable, Sendable, CustomStringConvertible {
        /// The place and the fault: `header "X-A": …`.
        public let description: String
    }

    package var fields: [Field] = []

    /// The first field that was refused, or nil.
    public internal(set) var defect: Defect?

    /// Whether a peer's value was kept that could not be sent.
    package private(set) var hasUnsendableValue = false

    /// Creates an empty section.
    public init() {}

    init(received fields: [Field]) { self.fields = fields }

    /// Creates a section of fields in order; a bad one becomes the ``defect``.
    public init(_ pairs: some Sequence<(String, String)>) {
        for (name, value) in pairs { append(Name(name), value) }
    }

    /// Creates a section of fields in order.
    /// - Throws: ``ClientError/Code/invalidRequest``, naming the first bad field and not its value.
    public init(validating pairs: some Sequence<(String, String)>) throws {
        for (name, value) in pairs { try add(Name(name), value) }
    }

    /// The value of a field, or nil where there is none.
    ///
    /// Several lines are joined with a comma (RFC 9110 §5.3), those of `Cookie` with a semicolon
    /// (RFC 9113 §8.2.3); use ``values(of:)`` for `Set-Cookie`. Setting replaces all lines of the
    /// name, at the place of the first; nil removes them.
    public subscript(name: Name) -> String? {
        get {
            guard let first = fields.firstIndex(where: { $0.name == name }) else { return nil }
            var combined = fields[first].value
            for field in fields[(first + 1)...] where field.name == name {
                combined += (name == .cookie ? "; " : ", ") + field.value
            }
            return combined
        }
        set {
            guard let newValue else { return remove(name) }
            guard let field = checked(name, newValue) else { return }
            guard let first = fields.firstIndex(where: { $0.name == name }) else {
                fields.append(field)
                return
            }
            fields[first] = field
            // Most have one line; those behind it go in one pass.
            guard fields[(first + 1)...].contains(where: { $0.name == name }) else { return }
            let rest = fields[(first + 1)...].filter { $0.name != name }
            fields.replaceSubrange((first + 1)..., with: rest)
        }
    }

    /// The values of all lines of a name, in order.
    public func values(of name: Name) -> [String] {
        fields.lazy.filter { $0.name == name }.map(\.value)
    }

    /// The value of the first line of a name, or nil.
    public func first(_ name: Name) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// Whether there is a field of that name.
    public func contains(_ name: Name) -> Bool { fields.contains { $0.name == name } }

    /// Adds a line behind those of the same name; a bad one becomes the ``defect``.
    public mutating func append(_ name: Name, _ value: String) {
        if let field = checked(name, value) { fields.append(field) }
    }

    /// Adds a line behind those of the same name.
    /// - Throws: ``ClientError/Code/invalidRequest``, naming the field and not its value.
    public mutating func add(_ name: Name, _ value: String) throws {
        if let defect = Self.fault(name, value) {
            throw ClientError(.invalidRequest, defect.description)
        }
        fields.append(Field(name: name, value: Grammar.trimmed(value)))
    }

    /// Adds a line that a peer sent.
    ///
    /// CR, LF and NUL make a ``defect``; other control characters are kept, as RFC 9110 §5.5
    /// allows, but a request with them is refused.
    package mutating func appendReceived(_ name: Name, _ value: String) {
        let isSplitting = value.utf8.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D }
        let isSendable = Grammar.firstIllegalValueByte(value) == nil
        if isSplitting || isSendable || !Grammar.isToken(name.rawValue) {
            return append(name, value)
        }
        hasUnsendableValue = true
        fields.append(Field(name: name, value: Grammar.trimmed(value)))
    }

    /// Adds a line that is known to be a valid one: its name a token, its value without control
    /// characters, and without blanks around it.
    package mutating func appendChecked(_ name: consuming Name, _ value: consuming String) {
        fields.append(Field(name: name, value: value))
    }

    /// Makes room for a number of lines.
    package mutating func reserveCapacity(_ count: Int) { fields.reserveCapacity(count) }

    /// What keeps the section from being sent, or nil.
    package var sendingFault: String? {
        if let defect { return defect.description }
        guard hasUnsendableValue else { return nil }
        return fields.lazy.compactMap { Self.fault($0.name, $0.value)?.description }.first
    }

    /// Sets a field where there is none of that name.
    public mutating func setIfAbsent(_ name: Name, _ value: @autoclosure () -> String) {
        if !contains(name) { append(name, value()) }
    }

    /// Removes all lines of a name.
    public mutating func remove(_ name: Name) { fields.removeAll { $0.name == name } }

    /// Removes all fields for which a condition holds.
    public mutating func removeAll(where condition: (Field) throws -> Bool) rethrows {
        try fields.removeAll(where: condition)
    }

    /// The size of the section on the wire in HTTP/1.1: names, values, and four bytes a line.
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

    private static func fault(_ name: Name, _ value: String) -> Defect? {
        if !Grammar.isToken(name.rawValue) {
            return Defect(
                description:
                    "the header name \"\(Grammar.escaped(name.rawValue, upTo: 64))\""
                    + " is not a token (RFC 9110 §5.6.2); use letters, digits and hyphens")
        }
        if let position = Grammar.firstIllegalValueByte(value) {
            return Defect(
                description:
                    "the value of header \"\(name.rawValue)\" has a control character at byte"
                    + " \(position); remove CR, LF, NUL and the like")
        }
        return nil
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The index of the first field.
    public var startIndex: Int { fields.startIndex }
    /// The index behind the last field.
    public var endIndex: Int { fields.endIndex }
    /// The field at a position.
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: Hashable {
    /// Whether both have the same fields in the same order; the case of names is ignored.
    public static func == (left: Self, right: Self) -> Bool {
        left.fields == right.fields && left.defect == right.defect
    }

    /// Feeds the fields to a hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Creates a section of fields in order; a bad one becomes the ``defect``.
    public init(dictionaryLiteral elements: (Name, String)...) {
        for (name, value) in elements { append(name, value) }
    }
}
