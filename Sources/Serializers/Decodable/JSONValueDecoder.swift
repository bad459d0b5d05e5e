// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// Decodes JSON with Foundation's `JSONDecoder`.
///
/// The content is first checked by the parser of
/// ``/TurnpikeCore/JSONValue/init(parsing:options:)-(Data,_)``, and refused with line and column if
/// it is not JSON. `JSONDecoder` alone accepts a comma after the last element, UTF-16, and
/// malformed members that the type does not name. With the check, ``TurnpikeCore/Call/json()`` and
/// ``TurnpikeCore/Call/decode(_:)`` accept the same texts. If several members have one name, the
/// first counts. A ``/TurnpikeCore/JSONValue``, alone or within a type, holds exactly what the text
/// says.
///
/// | exception | effect | reason |
/// |---|---|---|
/// | the decoder has `allowsJSON5` or `assumesTopLevelDictionary` | no check beforehand | the text may be more than JSON |
/// | its `keyDecodingStrategy` is not the default | a `JSONValue` within a type has renamed members and 64-bit integers | only the decoder knows the names |
/// | a number does not fit the type | `decode` throws | `JSONValue` holds integers of any size |
/// | you pass your own ``/TurnpikeCore/ValueDecoder`` | it decides | |
public struct JSONValueDecoder: ValueDecoder {
    private let makeDecoder: @Sendable () -> JSONDecoder

    /// Creates a decoder.
    /// - Parameter makeDecoder: Creates and configures the decoder, once for each value. The
    ///   default reads dates as ISO 8601.
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
        let isChecked = !decoder.allowsJSON5 && !decoder.assumesTopLevelDictionary
        if isChecked { try JSONValue.check(content) }
        if let key = JSONSource.key, case .useDefaultKeys = decoder.keyDecodingStrategy {
            decoder.userInfo[key] = JSONSource(content)
        }
        do {
            return try decoder.decode(type, from: content)
        } catch DecodingError.dataCorrupted(let context)
            where isChecked && context.codingPath.isEmpty
            && context.debugDescription == "The given data was not valid JSON."
        {
            // The check says that it is: Foundation's words for a number out of its type's range.
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: [], debugDescription: "A number does not fit in its type.",
                    underlyingError: context.underlyingError))
        }
    }
}
