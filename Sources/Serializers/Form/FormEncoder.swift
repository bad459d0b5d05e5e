// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore

/// Encodes values as URL-encoded form fields, for a query or a request body.
///
/// ```swift
/// var encoder = FormEncoder()
/// encoder.arrays = .repeated
/// let page = client.get("search", parameters: Search(text: "swift", tags: ["a", "b"]), encoder: encoder)
/// ```
///
/// The result is stable: fields are sorted by name, or keep the order of the type's properties.
/// Array elements keep their order. Collections without an order (dictionaries and sets) are always
/// sorted. `URL` is written as its text, `Decimal` as plain digits, and integers are exact.
public struct FormEncoder: Sendable {
    /// How array elements are named.
    public var arrays: Arrays = .brackets
    /// How Boolean values are written.
    public var booleans: Booleans = .numeric
    /// How bytes are written.
    public var data: DataStyle = .base64
    /// How dates are written.
    public var dates: Dates = .deferred
    /// How the names of properties and dictionary keys are converted.
    public var keys: Keys = .unchanged
    /// How nested names are written.
    public var keyPaths: KeyPaths = .brackets
    /// How nil is written.
    public var nils: Nils = .dropKey
    /// How a space is written.
    public var spaces: Spaces = .percentEncoded
    /// Whether fields are sorted by name.
    ///
    /// Otherwise they keep the order in which the value encodes them.
    public var sortsFields = true
    /// The characters that are not percent-encoded, besides ASCII letters and digits.
    ///
    /// All others are percent-encoded as UTF-8; characters beyond ASCII, `%`, `&`, `=`, `+` and `#`
    /// always are. The default is the unreserved characters and `/?`, which a query may contain
    /// unencoded (RFC 3986 §3.4).
    public var unescaped = "-._~/?"
    /// Whether the media type of a body has the parameter `charset=utf-8`.
    ///
    /// The registered media type has no such parameter, because its content is always UTF-8. Many
    /// servers evaluate it nevertheless.
    public var statesCharset = true

    /// Creates an encoder with the default of each option.
    public init() {}

    /// Encodes the members of a value as fields.
    /// - Parameter value: A value with named members: a type with coding keys, or a dictionary.
    /// - Returns: `name=value` pairs joined by `&`, or an empty text if there are none.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` if the value has no named
    ///   members, and any error of the value or of a closure among the options.
    public func encode(_ value: some Encodable) throws -> String {
        let slot = FormSlot()
        try FormValueEncoder(options: self, slot: slot).encode(value)
        guard let node = slot.node, case .object = node else {
            throw ClientError(
                .serialization, "a \(type(of: value)) has no named members to encode as a form")
        }
        return FormWriter(options: self).write(node)
    }

    /// Encodes fields in order; a field without a value is written as its name alone.
    public func encode(_ fields: Query) -> String {
        FormWriter(options: self).write(fields)
    }

    /// The media type of a body.
    public var mediaType: MediaType {
        guard statesCharset else { return .form }
        let charset = MediaType.Parameter(name: "charset", value: "utf-8")
        return MediaType("application", "x-www-form-urlencoded", parameters: [charset])
    }
}
