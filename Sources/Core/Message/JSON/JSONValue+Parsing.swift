public import struct Foundation.Data

/// Why a text is not JSON, and where.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason.
    ///
    /// It quotes at most one byte of the text.
    public let reason: String
    /// The position of the fault in bytes, starting at 0.
    public let offset: Int
    /// The line of the fault, starting at 1.
    public let line: Int
    /// The column of the fault in bytes, starting at 1.
    public let column: Int

    /// The position and the reason: `line 3, column 14: …`.
    public var description: String { "line \(line), column \(column): \(reason)" }
}

/// Options for parsing JSON text.
public struct JSONReadingOptions: Hashable, Sendable {
    /// How several members with one name in an object are handled.
    public enum DuplicateNames: Hashable, Sendable {
        /// The first member counts, as in Foundation's `JSONDecoder`, so that both parsers return
        /// the same value.
        case keepFirst
        /// The text is rejected.
        ///
        /// Use it if another program reads the same text.
        case refuse
    }

    /// How deeply arrays and objects may be nested.
    public var maxDepth: Int
    /// The longest number in bytes.
    public var maxNumberBytes: Int
    /// How several members with one name are handled.
    public var duplicateNames: DuplicateNames

    /// Creates options.
    ///
    /// The default depth is that of Foundation's `JSONDecoder`.
    public init(
        maxDepth: Int = 512, maxNumberBytes: Int = 1024,
        duplicateNames: DuplicateNames = .keepFirst
    ) {
        self.maxDepth = maxDepth
        self.maxNumberBytes = maxNumberBytes
        self.duplicateNames = duplicateNames
    }
}

extension JSONValue {
    /// Parses JSON text in UTF-8, skipping a byte order mark.
    ///
    /// Time and memory are linear in the size of the text. Numbers beyond the range of `Double` are
    /// rejected; integers beyond 64 bits are kept exactly.
    /// - Throws: ``JSONSyntaxError``.
    public init(parsing data: Data, options: JSONReadingOptions = .init()) throws(JSONSyntaxError) {
        let result = unsafe data.withUnsafeBytes { buffer -> Result<JSONValue, JSONSyntaxError> in
            let bytes = unsafe buffer.bindMemory(to: UInt8.self)
            var parser = unsafe JSONParser(bytes: bytes, options: options)
            return Result { () throws(JSONSyntaxError) in try unsafe parser.parseDocument() }
        }
        self = try result.get()
    }

    /// Checks JSON text as ``init(parsing:options:)`` does, without creating a value.
    package static func check(_ data: Data) throws(JSONSyntaxError) {
        let result = unsafe data.withUnsafeBytes { buffer -> Result<Void, JSONSyntaxError> in
            let bytes = unsafe buffer.bindMemory(to: UInt8.self)
            var parser = unsafe JSONParser(bytes: bytes, options: JSONReadingOptions())
            return Result { () throws(JSONSyntaxError) in try unsafe parser.checkDocument() }
        }
        try result.get()
    }

    /// Parses JSON text.
    /// - Throws: ``JSONSyntaxError``.
    public init(parsing text: String, options: JSONReadingOptions = .init()) throws(JSONSyntaxError)
    {
        try self.init(parsing: Data(text.utf8), options: options)
    }
}
