// SPDX-License-Identifier: Apache-2.0

import TurnpikeRedaction

/// Searches for secrets in texts that belong together, such as the texts of one message.
///
/// For a log, use ``Redaction``. ``RedactionPass`` is for programs that store messages, such as a
/// recorder. Hidden values have the kinds of the original values, and other programs can still
/// parse the texts. If a value is hidden because of the name, ``Redaction/hide(secretsOf:)`` hides
/// the value everywhere:
///
/// ```swift
/// let pass = RedactionPass(recording: rules)
/// let field = pass.header("X-Api-Key", value)
/// let content = try pass.json(bytes)
/// rules.hide(secretsOf: pass)
/// ```
public final class RedactionPass {
    /// The rules for hiding secrets.
    public let redaction: Redaction
    let search: SecretSearch

    private init(_ search: SecretSearch) {
        redaction = Redaction(rules: search.rules)
        self.search = search
    }

    /// The placeholders of the contents that could not be parsed.
    public var withheld: [String] { search.withheld }

    /// Creates an object whose results are for people.
    public convenience init(_ redaction: Redaction = .standard) {
        self.init(SecretSearch(redaction.rules))
    }

    /// Creates an object whose results are stored for programs.
    /// - Parameters:
    ///   - redaction: The rules.
    ///   - xml: Returns XML within other content without secrets; the second argument is true if
    ///     the XML was truncated. If nil, XML with a secret name is withheld.
    public convenience init(
        recording redaction: Redaction,
        xml: (([UInt8], Bool, RedactionPass) throws(ClientError) -> [UInt8])? = nil
    ) {
        var inner: SecretSearch.XMLRedactor?
        if let xml {
            inner = { text, isCut, search throws(ContentFault) in
                do throws(ClientError) {
                    return try xml(text, isCut, RedactionPass(search))
                } catch {
                    throw ContentFault(error.message)
                }
            }
        }
        self.init(SecretSearch(redaction.rules, .record, xml: inner))
    }

    /// Returns the mark that replaces a value with a secret name, and records the value.
    public func hide(_ value: some Collection<UInt8>) -> [UInt8] { search.hide(value) }

    /// Returns a placeholder for content that cannot be searched.
    ///
    /// A placeholder contains the kind, length and hash of the content, by which two recordings can
    /// be compared: `(withheld: JSON of 12 bytes, SHA-256 0123456789abcdef: …)`.
    /// - Parameters:
    ///   - content: The content.
    ///   - name: The expected kind, such as `JSON`: letters, digits and spaces.
    ///   - reason: The reason why the content cannot be searched.
    /// - Returns: The placeholder.
    public func withhold(
        _ content: some Collection<UInt8>, as name: String, _ reason: String
    ) -> [UInt8] {
        search.withhold(content, as: name, reason)
    }

    // MARK: Texts

    /// Returns the value of a header field without its secrets; cookies keep their names.
    public func header(_ name: HTTPHeaders.Name, _ value: String) -> String {
        search.header(name.lowercased, value)
    }

    /// Returns a URL without its secrets; the text need not be a valid URL.
    public func url(_ text: String) -> String { search.url(text) }

    /// Returns a value of content without its secrets, or nil if the value has no secrets.
    ///
    /// The search finds URLs, credentials and assignments, with or without escapes. The search also
    /// parses JSON in the value, and base64 of JSON.
    /// - Parameters:
    ///   - text: The value without the escapes of the content.
    ///   - isCut: Whether the value was truncated, perhaps within a secret.
    /// - Returns: The value without secrets.
    public func value(_ text: [UInt8], isCut: Bool = false) -> [UInt8]? {
        search.value(text, isCut: isCut)
    }

    /// Returns bytes without known secrets and without credentials of a known form, or nil if the
    /// bytes contain neither.
    /// - Parameters:
    ///   - bytes: Bytes of any kind, or a whole content that was parsed.
    ///   - isText: Whether to search the bytes a second time, without escapes and line breaks.
    ///   - isCut: Whether the bytes were truncated, perhaps within a secret.
    /// - Returns: The bytes without the secrets.
    public func bytes(_ bytes: [UInt8], isText: Bool = false, isCut: Bool = false) -> [UInt8]? {
        search.bytes(bytes, isText: isText, isCut: isCut)
    }

    // MARK: Contents

    /// Returns JSON without secrets.
    /// - Parameters:
    ///   - text: One or more JSON texts in UTF-8.
    ///   - isCut: Whether the text was truncated, in which case the last value is left out.
    /// - Returns: The text.
    /// - Throws: ``ClientError/Code/serialization`` if the text is not JSON.
    public func json(_ text: [UInt8], isCut: Bool = false) throws(ClientError) -> [UInt8] {
        do throws(ContentFault) {
            return try search.json(text, isCut: isCut)
        } catch {
            throw ClientError(.serialization, error.message)
        }
    }

    /// Returns a form (`application/x-www-form-urlencoded`) without secrets.
    /// - Parameters:
    ///   - text: The form.
    ///   - isCut: Whether the form was truncated, perhaps within a secret.
    /// - Returns: The form.
    public func form(_ text: [UInt8], isCut: Bool = false) -> [UInt8] {
        search.form(text, isCut: isCut)
    }
}
