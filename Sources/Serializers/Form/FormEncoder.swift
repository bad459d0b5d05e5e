import Foundation
public import TurnpikeCore

/// Encodes values as URL-encoded form fields: for a query, or as a body of type
/// `application/x-www-form-urlencoded`.
///
/// ```swift
/// var encoder = FormEncoder()
/// encoder.arrays = .repeated
/// let page = client.get("search", parameters: Search(text: "swift", tags: ["a", "b"]), encoder: encoder)
/// ```
///
/// The result is stable: fields are sorted by name, or stand in the order of the type's properties;
/// the elements of an array keep theirs, and what has no order of its own (dictionaries, sets) is
/// sorted in any case. `URL` gives its text and `Decimal` its plain digits. Integers are exact.
public struct FormEncoder: Sendable {
    /// How the elements of an array are named.
    public var arrays: Arrays = .brackets
    /// How truth values are written.
    public var booleans: Booleans = .numeric
    /// How bytes are written.
    public var data: DataStyle = .base64
    /// How dates are written.
    public var dates: Dates = .deferred
    /// What becomes of the names of properties and of dictionary keys.
    public var keys: Keys = .unchanged
    /// How names within names are written.
    public var keyPaths: KeyPaths = .brackets
    /// What becomes of nil.
    public var nils: Nils = .dropKey
    /// How a blank is written.
    public var spaces: Spaces = .percentEncoded
    /// Whether fields are sorted by name; else they stand in the order in which the value gives
    /// them.
    public var sortsFields = true
    /// The characters that stand for themselves, besides ASCII letters and digits.
    ///
    /// All others are percent-encoded as UTF-8; characters beyond ASCII, `%`, `&`, `=`, `+` and `#`
    /// always are. The default is the unreserved characters and `/?`, which a query may hold as
    /// they are (RFC 3986 §3.4).
    public var unescaped = "-._~/?"
    /// Whether the media type of a body states `charset=utf-8`.
    ///
    /// The registered type has no such parameter, and its content is UTF-8; many servers read it
    /// all the same.
    public var statesCharset = true

    /// Creates an encoder with the default of each option.
    public init() {}

    /// The fields of a value, encoded.
    /// - Parameter value: A value with named members: a type with coding keys, or a dictionary.
    /// - Returns: `name=value` pairs joined by `&`; empty where there are none.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization`` where the value has no names, and
    ///   what the value or an option's closure throws.
    public func encode(_ value: some Encodable) throws -> String {
        let slot = FormSlot()
        try FormValueEncoder(options: self, slot: slot).encode(value)
        guard let node = slot.node, case .object = node else {
            throw ClientError(
                .serialization, "a \(type(of: value)) has no named members to make form fields of")
        }
        return FormWriter(options: self).write(node)
    }

    /// Fields in order, encoded; a field without a value stands as its name.
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
