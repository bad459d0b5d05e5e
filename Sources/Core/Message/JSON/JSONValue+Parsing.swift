// SPDX-License-Identifier: Apache-2.0

public import struct Foundation.Data

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
