// SPDX-License-Identifier: Apache-2.0

extension ValkeyServer {
    /// How a client connects, and how much it lets wait.
    public struct Configuration: Sendable {
        /// The connections to each node, 1 to 16.
        ///
        /// Commands share a connection, one behind the other. A second one lets short commands pass
        /// large values.
        public var connections = 1
        /// How long finding a host, connecting and logging in may take together.
        public var connectLimit = Duration.seconds(2)
        /// How old the oldest command without a reply may become before its connection is closed.
        ///
        /// If the command itself was given more time, that applies.
        public var stallLimit = Duration.seconds(2)
        /// The most commands without a reply; more fail at once.
        public var maxWaitingCommands = 10_000
        /// The most bytes of commands that are not sent yet; a command beyond fails at once.
        public var maxWaitingBytes = 16 << 20
        /// The most bytes of one reply; a larger one ends its connection.
        public var maxReplyBytes = 64 << 20
        /// The most values in one reply; one with more ends its connection.
        public var maxReplyValues = 1 << 20

        /// A PEM file with the certificate authorities that `rediss` trusts; nil for the system's.
        public var certificateAuthorities: String?

        /// Creates the default configuration.
        public init() {}
    }
}

extension ValkeyServer.Configuration {
    // Settings that make no sense are moved to the next that do.
    var bounded: Self {
        var copy = self
        copy.connections = min(max(connections, 1), 16)
        copy.connectLimit = min(max(connectLimit, .milliseconds(10)), .seconds(60))
        copy.stallLimit = min(max(stallLimit, .milliseconds(100)), .seconds(600))
        copy.maxWaitingCommands = min(max(maxWaitingCommands, 1), 1 << 24)
        copy.maxWaitingBytes = min(max(maxWaitingBytes, 1024), 1 << 30)
        copy.maxReplyBytes = min(max(maxReplyBytes, 1024), 1 << 30)
        copy.maxReplyValues = min(max(maxReplyValues, 64), 1 << 26)
        return copy
    }

    var replyLimits: ReplyLimits {
        var limits = ReplyLimits()
        limits.maxBytes = maxReplyBytes
        limits.maxValues = maxReplyValues
        return limits
    }
}
