// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore

/// The JSON values of a response with one value per line (NDJSON), as they arrive.
///
/// ```swift
/// for try await event in client.get("events").jsonLines(of: Event.self) { handle(event) }
/// ```
///
/// Blank lines are skipped. An invalid line throws ``/TurnpikeCore/ClientError/Code/serialization``
/// with its number, after the values before it, unless invalid lines are skipped too.
public struct JSONLines<Value: Sendable>: AsyncSequence, Sendable {
    private let source: StreamSource
    private let skipsInvalid: Bool
    private let decode: @Sendable (Data) throws -> Value

    init(
        _ source: StreamSource, skipsInvalid: Bool,
        decode: @escaping @Sendable (Data) throws -> Value
    ) {
        self.source = source
        self.skipsInvalid = skipsInvalid
        self.decode = decode
    }

    /// An iterator over the values.
    ///
    /// Releasing it ends the transfer.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var records: RecordReader<Value>

        fileprivate init(_ lines: JSONLines) {
            records = unsafe RecordReader(lines.source) { bytes, number in
                if unsafe bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) {
                    return nil
                }
                do {
                    return try lines.decode(unsafe Data(bytes))
                } catch {
                    if lines.skipsInvalid { return nil }
                    throw ClientError(
                        .serialization, "line \(number) cannot be read: \(Self.reason(error))",
                        underlying: error)
                }
            }
        }

        private static func reason(_ error: any Error) -> String {
            (error as? JSONSyntaxError)?.reason ?? "it does not match the expected type"
        }

        /// The next value, or nil at the end.
        public mutating func next() async throws -> Value? { try await records.next() }

        /// The next value, or nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
            try await records.next()
        }
    }

    /// Creates an iterator; the request is sent by its first `next()`.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension ResponseBody {
    /// Returns the JSON values of the body's lines as they arrive.
    /// - Parameters:
    ///   - maxBytes: The longest line in bytes.
    ///   - skippingInvalid: Whether lines that are not JSON are skipped.
    /// - Returns: A sequence of values.
    public func jsonLines(
        maxBytes: Int = 1_048_576, skippingInvalid: Bool = false
    ) -> JSONLines<JSONValue> {
        JSONLines(StreamSource(self, maxBytes: maxBytes), skipsInvalid: skippingInvalid) {
            try JSONValue(parsing: $0)
        }
    }
}

extension Call {
    /// Returns the JSON values of the response's lines as they arrive.
    /// - Parameter skippingInvalid: Whether lines that are not JSON are skipped.
    /// - Returns: A sequence of values.
    public func jsonLines(skippingInvalid: Bool = false) -> JSONLines<JSONValue> {
        JSONLines(StreamSource(asking("application/x-ndjson")), skipsInvalid: skippingInvalid) {
            try JSONValue(parsing: $0)
        }
    }

    /// Returns the values of the response's lines, decoded from JSON, as they arrive.
    /// - Parameters:
    ///   - type: The type of a value.
    ///   - decoder: Decodes each line.
    ///   - skippingInvalid: Whether lines that cannot be decoded are skipped.
    /// - Returns: A sequence of values.
    public func jsonLines<Value: Decodable & Sendable>(
        of type: Value.Type, with decoder: any ValueDecoder = JSONValueDecoder(),
        skippingInvalid: Bool = false
    ) -> JSONLines<Value> {
        JSONLines(StreamSource(asking("application/x-ndjson")), skipsInvalid: skippingInvalid) {
            try decoder.decode(type, from: $0)
        }
    }

    /// Returns the call with this media type in `Accept`, unless it already has an `Accept` field.
    func asking(_ type: MediaType) -> Call {
        var call = self
        call.request.headers.setIfAbsent(.accept, type.description + ", */*;q=0.5")
        return call
    }
}
