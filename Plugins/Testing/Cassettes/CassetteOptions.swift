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
