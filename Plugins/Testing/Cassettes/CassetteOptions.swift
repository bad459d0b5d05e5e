// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The options with which a ``CassetteTransport`` records and finds exchanges.
public struct CassetteOptions: Sendable {
    /// The rules that hide secrets before storage, comparison and reports, or nil to hide nothing.
    public var redaction: Redaction?

    /// Media types whose content is recorded although this library cannot parse it, such as `*/*`.
    ///
    /// Secrets may remain in this content, which is searched as text or as bytes. A placeholder
    /// replaces content of other types (``CassetteTransport/withheld``).
    public var allowedTypes: [MediaType]

    /// The rules that decide which requests are equal.
    public var matching: CassetteMatching

    /// The maximum age of a recorded exchange, or nil for any age.
    ///
    /// The age is the difference between the exchange's date and the client's time source. If a
    /// date is older, or further in the future, ``CassetteTransport/Mode/replay`` fails and
    /// ``CassetteTransport/Mode/recordMissing`` records the exchange again.
    public var expiry: Duration?

    /// Whether ``CassetteTransport/Mode/replay`` repeats the last response to equal requests.
    public var repeatsLast: Bool

    /// The maximum number of bytes of content, above which the call fails with
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

/// Decides whether a request equals a recorded request, by redacted method, URL and content.
///
/// The comparison ignores the order of query items and form fields, the order and whitespace of
/// JSON, the boundary of multipart content, and fragments of URLs. If the content was not recorded,
/// the comparison ignores the content.
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
