// SPDX-License-Identifier: Apache-2.0

extension WebSocket {
    /// Why a socket was closed (RFC 6455 §7.4).
    public struct CloseCode: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: UInt16

        /// Creates a code; those of an application are 4000 to 4999.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// 1000: all was said.
        public static let normal = Self(rawValue: 1000)
        /// 1001: the server shuts down, or the client leaves.
        public static let goingAway = Self(rawValue: 1001)
        /// 1002: a violation of the protocol.
        public static let protocolError = Self(rawValue: 1002)
        /// 1003: content of a type that the receiver does not take.
        public static let unsupportedContent = Self(rawValue: 1003)
        /// 1007: text that is no UTF-8, or content that cannot be inflated.
        public static let invalidContent = Self(rawValue: 1007)
        /// 1008: a rule of the receiver.
        public static let policyViolation = Self(rawValue: 1008)
        /// 1009: a message larger than the receiver takes.
        public static let messageTooBig = Self(rawValue: 1009)
        /// 1011: a failure of the server.
        public static let serverError = Self(rawValue: 1011)
        /// 1012: the server restarts.
        public static let serviceRestart = Self(rawValue: 1012)
        /// 1013: the server is overloaded.
        public static let tryAgainLater = Self(rawValue: 1013)

        /// Whether the code may stand in a frame: 1005, 1006 and 1015 are only names for what no
        /// frame says, and others are not assigned.
        var mayBeSent: Bool {
            switch rawValue {
            case 1000...1003, 1007...1014, 3000...4999: true
            default: false
            }
        }

        /// Whether a new connection may serve where this one was closed.
        var isPassing: Bool {
            switch rawValue {
            case 1001, 1011...1014: true
            default: false
            }
        }
    }

    /// How the peer closed a socket.
    public struct Closure: Sendable, Hashable {
        /// The code of the peer; nil if it sent none.
        public let code: CloseCode?
        /// What the peer said.
        public let reason: String
    }
}
