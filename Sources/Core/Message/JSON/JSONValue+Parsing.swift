public import struct Foundation.Data

/// Why a text is not JSON, and where.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was found.
    ///
    /// It never holds more of the text than one byte.
    public let reason: String
    /// The position of the fault in bytes from 0.
    public let offset: Int
    /// The line of the fault from 1.
    public let line: Int
    /// The column of the fault in bytes from 1.
    public let column: Int

    /// The place and the reason: `line 3, column 14: …`.
    public var description: String { "line \(line), column \(column): \(reason)" }
}

/// How JSON text is read.
public struct JSONReadingOptions: Hashable, Sendable {
    /// What two members of one name in an object mean.
    public enum DuplicateNames: Hashable, Sendable {
        /// The first counts, as in Foundation's `JSONDecoder`, so that both readers see one value.
        case keepFirst
        /// The text is refused.
        ///
        /// Use it where another program reads the same text.
        case refuse
    }

    /// How deep arrays and objects may nest.
    public var maxDepth: Int
    /// How many bytes one number may have.
    public var maxNumberBytes: Int
    /// What two members of one name mean.
    public var duplicateNames: DuplicateNames

    /// Creates options.
    ///
    /// The depth is that of Foundation's `JSONDecoder`.
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
    /// Parses JSON text in UTF-8; a byte order mark before it is skipped.
    ///
    /// Time and memory are linear in the size of the text. Numbers beyond the range of `Double` are
    /// refused, integers beyond 64 bits are kept exactly.
    /// - Throws: ``JSONSyntaxError``.
    public init(parsing data: Data, options: JSONReadingOptions = .init()) throws(JSONSyntaxError) {
        let result = unsafe data.withUnsafeBytes { buffer -> Result<JSONValue, JSONSyntaxError> in
            let bytes = unsafe buffer.bindMemory(to: UInt8.self)
            var parser = unsafe JSONParser(bytes: bytes, options: options)
            return Result { () throws(JSONSyntaxError) in try unsafe parser.parseDocument() }
        }
        self = try result.get()
    }

    /// Reads JSON text as ``init(parsing:options:)`` does, without making a value of it.
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
