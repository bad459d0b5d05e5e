/// How far an exchange had come when it failed: what decides whether sending again is safe.
public struct TransferState: Hashable, Sendable {
    /// A stage of one exchange.
    public enum Phase: String, Hashable, Sendable, Comparable {
        /// Name lookup, connection, TLS: no byte of the request was written, or the server has said
        /// that it did nothing with it, as HTTP/2 can (RFC 9113 §8.7).
        case connecting
        /// Bytes of the request may have been written; no byte of a response has come.
        case sending
        /// The response's head had come.
        case receiving

        /// Orders the phases as they follow each other.
        public static func < (left: Self, right: Self) -> Bool { left.order < right.order }

        private var order: Int {
            switch self {
            case .connecting: 0
            case .sending: 1
            case .receiving: 2
            }
        }
    }

    /// The stage that was reached.
    public let phase: Phase
    /// The bytes of the request's content that were handed to the connection.
    public let bodyBytesSent: Int64

    /// Creates a state.
    public init(_ phase: Phase, bodyBytesSent: Int64 = 0) {
        self.phase = phase
        self.bodyBytesSent = bodyBytesSent
    }

    /// Whether nothing of the request can have reached who acts on it.
    public var isUnsent: Bool { phase == .connecting && bodyBytesSent == 0 }
}
