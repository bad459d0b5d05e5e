// SPDX-License-Identifier: Apache-2.0

/// The progress of the request content and the response content, in bytes.
///
/// It describes the last exchange of a call: after a redirect or a retry it starts again at zero.
public struct TransferProgress: Sendable, Hashable {
    /// The bytes of the request content sent in the current exchange.
    public var bytesSent: Int64
    /// The size of the request content, if known.
    public var totalToSend: Int64?
    /// The bytes of the response content that the caller has read.
    public var bytesReceived: Int64
    /// The size of the response content, if known.
    public var totalToReceive: Int64?

    /// Creates a progress value.
    public init(
        bytesSent: Int64 = 0, totalToSend: Int64? = nil, bytesReceived: Int64 = 0,
        totalToReceive: Int64? = nil
    ) {
        self.bytesSent = bytesSent
        self.totalToSend = totalToSend
        self.bytesReceived = bytesReceived
        self.totalToReceive = totalToReceive
    }

    /// The received fraction of the response content, 0 to 1, or nil if the size is unknown.
    public var fractionReceived: Double? { Self.fraction(bytesReceived, totalToReceive) }

    /// The sent fraction of the request content, 0 to 1, or nil if the size is unknown.
    public var fractionSent: Double? { Self.fraction(bytesSent, totalToSend) }

    /// Whether any bytes were sent or received.
    var hasMoved: Bool { bytesSent > 0 || bytesReceived > 0 }

    private static func fraction(_ part: Int64, _ total: Int64?) -> Double? {
        guard let total else { return nil }
        return total > 0 ? Double(part) / Double(total) : 1
    }
}
