public import Foundation
public import TurnpikeCore

/// Decodes JSON by Foundation's `JSONDecoder`.
///
/// What is no JSON for ``/TurnpikeCore/JSONValue/init(parsing:options:)-(Data,_)`` is none here: it is
/// refused with its line and column before the decoder sees it, which by itself takes a comma behind
/// the last element, UTF-16, and any nonsense in members that the type does not name. So
/// ``TurnpikeCore/Call/json()`` and ``TurnpikeCore/Call/decode(_:)`` read the same texts. Of members
/// with one name the first counts. A ``/TurnpikeCore/JSONValue``, by itself or inside of a type, is
/// what stands in the text.
///
/// | differs where | how | why |
/// |---|---|---|
/// | the decoder `allowsJSON5`, or `assumesTopLevelDictionary` | nothing is checked before | the text is to be more than JSON |
/// | its `keyDecodingStrategy` is not the default | a `JSONValue` inside of a type has renamed members, and integers of 64 bits | the decoder alone knows the names |
/// | a number does not fit the type | `decode` refuses it | `JSONValue` takes integers of any size |
/// | a decoder of your own (``/TurnpikeCore/ValueDecoder``) | it decides | |
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
        let decoder = makeDecoder()
        if !decoder.allowsJSON5, !decoder.assumesTopLevelDictionary { try JSONValue.check(content) }
        if let key = JSONSource.key, case .useDefaultKeys = decoder.keyDecodingStrategy {
            decoder.userInfo[key] = JSONSource(content)
        }
        return try decoder.decode(type, from: content)
    }
}
