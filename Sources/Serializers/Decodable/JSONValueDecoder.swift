public import Foundation
public import TurnpikeCore

/// Decodes JSON by Foundation's `JSONDecoder`.
///
/// Of members with one name the first counts.
public struct JSONValueDecoder: ValueDecoder {
    private let makeDecoder: @Sendable () -> JSONDecoder

    /// Creates a decoder.
    /// - Parameter makeDecoder: Makes and configures the decoder, once for each value. The default
    ///   reads dates by ISO 8601.
    public init(
        _ makeDecoder: @escaping @Sendable () -> JSONDecoder = {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            return decoder
        }
    ) {
        self.makeDecoder = makeDecoder
    }

    /// Decodes a value.
    public func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value {
        try makeDecoder().decode(type, from: content)
    }
}
