/// How far the content of a request and of its response have come, in bytes.
///
/// It is that of the last exchange of the call: a redirect or a retry begins again with nothing,
/// which a progress bar shows by falling back.
public struct TransferProgress: Sendable, Hashable {
    /// The bytes of the request's content that have left, in the present send.
    public var bytesSent: Int64
    /// The bytes that are to leave, where they are known.
    public var totalToSend: Int64?
    /// The bytes of the response's content that the reader has got.
    public var bytesReceived: Int64
    /// The bytes that are to come, where they are known.
    public var totalToReceive: Int64?

    /// Creates a state of progress.
    public init(
        bytesSent: Int64 = 0, totalToSend: Int64? = nil, bytesReceived: Int64 = 0,
        totalToReceive: Int64? = nil
    ) {
        self.bytesSent = bytesSent
        self.totalToSend = totalToSend
        self.bytesReceived = bytesReceived
        self.totalToReceive = totalToReceive
    }

    /// The received part of the response's content, 0 to 1, or nil where the total is not known.
    public var fractionReceived: Double? { Self.fraction(bytesReceived, totalToReceive) }

    /// The sent part of the request's content, 0 to 1, or nil where the total is not known.
    public var fractionSent: Double? { Self.fraction(bytesSent, totalToSend) }

    /// Whether bytes have left or come.
    var hasMoved: Bool { bytesSent > 0 || bytesReceived > 0 }

    private static func fraction(_ part: Int64, _ total: Int64?) -> Double? {
        guard let total else { return nil }
        return total > 0 ? Double(part) / Double(total) : 1
    }
}
