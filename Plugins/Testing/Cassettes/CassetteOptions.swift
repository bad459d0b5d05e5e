// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// How a ``CassetteTransport`` records and finds exchanges.
public struct CassetteOptions: Sendable {
    /// The rules for hiding secrets before anything is stored, compared or reported; nil writes
    /// secrets to the file unchanged.
    public var redaction: Redaction?

    /// The media types whose content is recorded although this library cannot parse it, so that
    /// secrets in it may remain: `application/cbor`, `*/*`.
    ///
    /// Such content is searched as text or as bytes. Content of other types becomes a placeholder
    /// (``CassetteTransport/withheld``).
    public var allowedTypes: [MediaType]

    /// The rules for equal requests.
    public var matching: CassetteMatching

    /// The greatest age of a recorded exchange, by its date in the file and the client's time
    /// source; nil for any age.
    ///
    /// An older exchange, or one whose date is further than this in the future, fails in
    /// ``CassetteTransport/Mode/replay`` and is recorded again in
    /// ``CassetteTransport/Mode/recordMissing``.
    public var expiry: Duration?

    /// Whether the last of several responses to equal requests is repeated in
    /// ``CassetteTransport/Mode/replay``.
    public var repeatsLast: Bool

    /// The most bytes of one request or response content; larger content fails the call with
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

/// Decides whether a request equals a recorded one, by redacted method, URL and content.
///
/// It ignores the order of query items and form fields, the order and whitespace of JSON, and the
/// boundary of multipart content. It compares neither the fragment of a URL nor content that is
/// missing in the recording.
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
