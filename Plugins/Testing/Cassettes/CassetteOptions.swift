public import TurnpikeCore

/// How a ``CassetteTransport`` records and finds exchanges.
public struct CassetteOptions: Sendable {
    /// What is hidden before anything is kept, compared or reported; nil writes secrets to the file
    /// as they are.
    public var redaction: Redaction?

    /// What makes two requests the same.
    public var matching: CassetteMatching

    /// How old a recorded exchange may be, by its date in the file and the client's time source;
    /// nil for any age.
    ///
    /// An older one, and one whose date lies as far ahead, fails in
    /// ``CassetteTransport/Mode/replay`` and is made anew in ``CassetteTransport/Mode/recordMissing``.
    public var expiry: Duration?

    /// Whether the last of several answers to the same request is given again and again in
    /// ``CassetteTransport/Mode/replay``.
    public var repeatsLast: Bool

    /// How many bytes of one content are kept, the request's or the response's; more fails the call
    /// as ``/TurnpikeCore/ClientError/Code/tooLarge``.
    public var maxBytes: Int

    /// Creates options.
    public init(
        redaction: Redaction? = .standard, matching: CassetteMatching = CassetteMatching(),
        expiry: Duration? = nil, repeatsLast: Bool = true, maxBytes: Int = 16 << 20
    ) {
        self.redaction = redaction
        self.matching = matching
        self.expiry = expiry
        self.repeatsLast = repeatsLast
        self.maxBytes = maxBytes
    }
}
