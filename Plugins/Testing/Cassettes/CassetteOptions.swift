// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// How a ``CassetteTransport`` records and finds exchanges.
public struct CassetteOptions: Sendable {
    /// What is hidden before anything is stored, compared or reported; nil writes secrets to the
    /// file unchanged.
    public var redaction: Redaction?

    /// The media types whose content is recorded although no parser of this library reads it, so
    /// that a secret in it may stay: `application/cbor`, `*/*`.
    ///
    /// It is searched as text or as bytes. Other such content becomes a placeholder
    /// (``CassetteTransport/withheld``).
    public var allowedTypes: [MediaType]

    /// The rules for equal requests.
    public var matching: CassetteMatching

    /// How old a recorded exchange may be, by its date in the file and the client's time source;
    /// nil for any age.
    ///
    /// An exchange that is older, or dated further than this in the future, fails in
    /// ``CassetteTransport/Mode/replay`` and is recorded again in
    /// ``CassetteTransport/Mode/recordMissing``.
    public var expiry: Duration?

    /// Whether the last of several responses to equal requests is repeated in
    /// ``CassetteTransport/Mode/replay``.
    public var repeatsLast: Bool

    /// The largest request or response content in bytes; larger content fails the call with
    /// ``/TurnpikeCore/ClientError/Code/tooLarge``.
    public var maxBytes: Int

    /// Creates options.
    public init(
        redaction: Redaction? = .standard, matching: CassetteMatching = CassetteMatching(),
        expiry: Duration? = nil, repeatsLast: Bool = true, maxBytes: Int = 16 << 20,
        allowedTypes: [MediaType] = []
    ) {
        self.redaction = redaction
        self.matching = matching
        self.expiry = expiry
        self.repeatsLast = repeatsLast
        self.maxBytes = maxBytes
        self.allowedTypes = allowedTypes
    }
}

/// Decides whether a request equals a recorded one, by method, URL and content after redaction.
///
/// These differences are ignored: the order of query items and form fields, the order and
/// whitespace of JSON, and the boundary of multipart content. The fragment of a URL is not
/// compared, and neither is content that the recording does not have.
///
/// ```swift
/// var options = CassetteOptions()
/// options.matching = CassetteMatching(headers: [.accept], ignoring: ["nonce", "sent_at"])
/// ```
public struct CassetteMatching: Sendable, Hashable {
    /// Whether scheme, host and port must be equal.
    public var origin: Bool
    /// Whether the content must be equal.
    public var content: Bool
    /// The header fields whose values must be equal.
    public var headers: [HTTPHeaders.Name]
    /// The names of query items, form fields and JSON members that are ignored.
    public var ignoring: Set<String>

    /// Creates rules.
    public init(
        origin: Bool = true, content: Bool = true, headers: [HTTPHeaders.Name] = [],
        ignoring: Set<String> = []
    ) {
        self.origin = origin
        self.content = content
        self.headers = headers
        self.ignoring = ignoring
    }
}
