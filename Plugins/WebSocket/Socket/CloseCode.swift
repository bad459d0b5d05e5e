// SPDX-License-Identifier: Apache-2.0

extension WebSocket {
    /// The reason why a socket was closed (RFC 6455 §7.4).
    public struct CloseCode: RawRepresentable, Hashable, Sendable {
        /// The code as a number.
        public let rawValue: UInt16

        /// Creates a code.
        ///
        /// An application may use the numbers 4000 to 4999.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// 1000: the sender has no more messages.
        public static let normal = Self(rawValue: 1000)
        /// 1001: the server shuts down, or the client closes its page or program.
        public static let goingAway = Self(rawValue: 1001)
        /// 1002: the peer violated the protocol.
        public static let protocolError = Self(rawValue: 1002)
        /// 1003: the peer sent a type of content that the receiver does not accept.
        public static let unsupportedContent = Self(rawValue: 1003)
        /// 1007: the peer sent text that is not UTF-8, or content that cannot be decompressed.
        public static let invalidContent = Self(rawValue: 1007)
        /// 1008: a message violates a rule of the receiver.
        public static let policyViolation = Self(rawValue: 1008)
        /// 1009: a message is larger than the receiver accepts.
        public static let messageTooBig = Self(rawValue: 1009)
        /// 1011: the server has failed.
        public static let serverError = Self(rawValue: 1011)
        /// 1012: the server restarts.
        public static let serviceRestart = Self(rawValue: 1012)
        /// 1013: the server is overloaded.
        public static let tryAgainLater = Self(rawValue: 1013)

        // Whether a frame may contain the code. 1005, 1006 and 1015 describe situations without a
        // close frame. Other numbers are not assigned.
        var mayBeSent: Bool {
            [1000...1003, 1007...1014, 3000...4999].contains { $0.contains(rawValue) }
        }

        var isPassing: Bool { rawValue == 1001 || (1011...1014).contains(rawValue) }
    }

    /// How the peer closed a socket.
    public struct Closure: Sendable, Hashable {
        /// The code in the close frame, or nil if the frame has no code.
        public let code: CloseCode?
        /// The reason in the close frame.
        public let reason: String
    }
}
