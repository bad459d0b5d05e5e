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

        /// The code 1000 of a sender that has no more messages.
        public static let normal = Self(rawValue: 1000)
        /// The code 1001 of a server that shuts down, or of a client that ends.
        public static let goingAway = Self(rawValue: 1001)
        /// The code 1002 after a violation of the protocol.
        public static let protocolError = Self(rawValue: 1002)
        /// The code 1003 for content of a type that the receiver does not accept.
        public static let unsupportedContent = Self(rawValue: 1003)
        /// The code 1007 for text that is not UTF-8, or for content that cannot be decompressed.
        public static let invalidContent = Self(rawValue: 1007)
        /// The code 1008 for a message that violates a rule of the receiver.
        public static let policyViolation = Self(rawValue: 1008)
        /// The code 1009 for a message that is too large for the receiver.
        public static let messageTooBig = Self(rawValue: 1009)
        /// The code 1011 of a server that has failed.
        public static let serverError = Self(rawValue: 1011)
        /// The code 1012 of a server that restarts.
        public static let serviceRestart = Self(rawValue: 1012)
        /// The code 1013 of an overloaded server.
        public static let tryAgainLater = Self(rawValue: 1013)

        // Whether a frame may contain the code. The codes 1005, 1006 and 1015 describe situations
        // without a close frame. Other numbers are not assigned.
        var mayBeSent: Bool {
            [1000...1003, 1007...1014, 3000...4999].contains { $0.contains(rawValue) }
        }

        var isPassing: Bool { rawValue == 1001 || (1011...1014).contains(rawValue) }
    }

    /// The code and the reason of the peer's close frame.
    public struct Closure: Sendable, Hashable {
        /// The code in the close frame, or nil if the frame has no code.
        public let code: CloseCode?
        /// The reason in the close frame.
        public let reason: String
    }
}
