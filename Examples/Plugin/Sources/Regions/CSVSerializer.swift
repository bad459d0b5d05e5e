// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeSupport

/// Reads comma-separated values (RFC 4180) as rows of fields.
public struct CSVSerializer: ContentSerializer {
    /// Creates a serializer.
    public init() {}

    /// The accepted media type: `text/csv`.
    public var accept: [MediaType] { ["text/csv"] }

    /// The value for a response without content: no rows.
    public var emptyOutput: [[String]]? { [] }

    /// Returns the rows of the content.
    /// - Throws: ``CSVFault``.
    public func serialize(_ content: Data, of head: ResponseHead) throws -> [[String]] {
        guard let text = Charset(label: head.csvCharset)?.decode(content) else {
            throw CSVFault(description: "the content is not valid in its encoding")
        }
        var rows: [[String]] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let fields = Grammar.split(line, at: UInt8(ascii: ",")).map { field in
                String(field).trimmingQuotes.replacing("\"\"", with: "\"")
            }
            if let first = rows.first, first.count != fields.count {
                throw CSVFault(
                    description: "row \(rows.count + 1) has \(fields.count) fields,"
                        + " not \(first.count)")
            }
            rows.append(fields)
        }
        return rows
    }
}

/// Why content is not valid comma-separated values.
public struct CSVFault: Error, CustomStringConvertible {
    /// The reason.
    ///
    /// It contains no value of the content.
    public let description: String
}

extension ResponseHead {
    fileprivate var csvCharset: String {
        let type = headers[.contentType].flatMap { MediaType(parsing: $0) }
        return type?[parameter: "charset"] ?? "utf-8"
    }
}

extension String {
    fileprivate var trimmingQuotes: String {
        count >= 2 && hasPrefix("\"") && hasSuffix("\"") ? String(dropFirst().dropLast()) : self
    }
}

extension Call {
    /// Sends the request and returns the rows of the response.
    public func csv() async throws -> [[String]] { try await serialize(with: CSVSerializer()) }
}
