// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import TurnpikeEssentials

extension HTTPHeaders {
    /// Creates a section with the same fields, in the same order, with unchanged names.
    ///
    /// Whitespace around a value is dropped, because the whitespace is not part of the value (RFC
    /// 9110 §5.5). A control character inside a value is kept, as in a response. The send of a
    /// request with such a value fails. `HTTPField.indexingStrategy` is dropped, because the
    /// transport decides which fields enter a table of HPACK.
    /// - Parameter fields: The fields of a header or trailer section.
    /// - Throws: `ClientError.Code.invalidRequest` for a value that is not UTF-8. The error
    ///   contains the name of the field, but not the value.
    public init(_ fields: HTTPFields) throws {
        self.init()
        reserveCapacity(fields.count)
        for field in fields {
            let name = field.name.rawName
            guard let value = field.utf8Value else {
                throw ClientError(
                    .invalidRequest,
                    "the value of header \"\(name)\" is not UTF-8; expected a value in UTF-8")
            }
            appendReceived(HTTPHeaders.Name(name), value)
        }
        if let defect { throw ClientError(.invalidRequest, defect) }
    }
}

extension HTTPFields {
    // With 65,535 fields, `HTTPFields` crashes the program.
    private static let maxCount = 65_534

    /// Creates the same fields, in the same order, with unchanged names.
    ///
    /// A received value keeps its control characters. No field gets an indexing strategy.
    /// - Parameter headers: A header or trailer section.
    /// - Throws: `ClientError.Code.protocol` if the section has a field that `HTTPFields` cannot
    ///   represent, a defect (`HTTPHeaders.defect`), or more than 65,534 fields. The error contains
    ///   the name of the field, but not the value.
    public init(_ headers: HTTPHeaders) throws {
        if let defect = headers.defect { throw ClientError(.protocol, defect) }
        if headers.count > Self.maxCount {
            throw ClientError(
                .protocol,
                "found \(headers.count) header fields; expected at most \(Self.maxCount)")
        }
        self.init()
        reserveCapacity(headers.count)
        for field in headers {
            guard let name = HTTPField.Name(field.name.rawValue) else {
                throw ClientError(
                    .protocol,
                    "the header name \"\(field.name)\" is not a token (RFC 9110 §5.6.2); expected"
                        + " letters, digits and hyphens")
            }
            append(try HTTPField(name: name, received: field.value))
        }
    }
}

extension HTTPField {
    // These values are refused, because the library would replace NUL, CR and LF by blanks.
    fileprivate init(name: Name, received value: String) throws {
        if Self.isValidValue(value) {
            self.init(name: name, value: value)
            return
        }
        if let byte = value.utf8.first(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) {
            throw ClientError(
                .protocol,
                "the value of header \"\(name)\" has the byte \(byte); expected no NUL, CR or LF")
        }
        self.init(name: name, lenientValue: value.utf8)
    }

    /// The value, or nil if the bytes are not UTF-8.
    fileprivate var utf8Value: String? {
        let value = value
        guard value.unicodeScalars.contains("\u{FFFD}") else { return value }
        // U+FFFD may replace invalid bytes, or may be part of the received text.
        var sent = HTTPField(name: name, lenientValue: value.utf8)
        sent.indexingStrategy = indexingStrategy
        return sent == self ? value : nil
    }
}
