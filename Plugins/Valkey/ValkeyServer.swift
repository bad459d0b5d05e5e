// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// A client of a Valkey or Redis server, a cluster, or a primary with replicas.
///
/// ```swift
/// let server = try ValkeyServer(url: "redis://user:password@cache.internal:6379/0")
/// let value = try await server.send(ValkeyCommand("GET", "greeting"), within: .milliseconds(50))
/// ```
///
/// The initializer and the loss of a connection start a connection attempt in the background.
/// Commands of many tasks share a few connections. A command fails at once if the last attempt has
/// failed and the next attempt is not due yet. In all other cases, a command waits for the
/// connection within the time limit.
public final class ValkeyServer: Sendable {
    let engine: ValkeyEngine

    /// Creates a client, which begins to connect.
    ///
    /// If the attempt fails, the first command fails with the same error.
    /// - Parameters:
    ///   - url: A URL such as `redis://user:password@host:6379/0`, with `rediss` for TLS, or
    ///     `unix:///path` for a socket. Without a user, the URL is `redis://:password@host`.
    ///     Characters with a meaning in URLs must be percent-encoded. Several hosts, as in
    ///     `redis://a:6379,b:6379/0`, are nodes of a cluster, or a primary and replicas.
    ///   - configuration: The limits and the number of connections.
    ///   - meter: Counts commands (`turnpike.valkey.commands`), commands without a reply
    ///     (`turnpike.valkey.failures`), new connections (`turnpike.valkey.connects`) and open
    ///     connections (`turnpike.valkey.connections`).
    /// - Throws: ``/TurnpikeCore/ClientError`` if the URL is wrong, or if TLS is needed and OpenSSL
    ///   is missing.
    public init(
        url: String, configuration: Configuration = Configuration(),
        meter: (any GateMeter)? = nil
    ) throws {
        let url = try ValkeyURL(url)
        let tls =
            url.isSecure
            ? try TLSContext(authorities: configuration.certificateAuthorities) : nil
        engine = try ValkeyEngine(
            url: url, tls: tls, configuration: configuration.bounded, meter: meter)
    }

    init(_ engine: ValkeyEngine) { self.engine = engine }

    /// Returns whether the traffic to this URL is encrypted or stays on the machine.
    /// - Throws: ``/TurnpikeCore/ClientError`` if the URL is wrong.
    public static func hidesTraffic(url: String) throws -> Bool { try ValkeyURL(url).hidesTraffic }

    deinit { engine.stop() }

    /// Sends a command.
    ///
    /// After the time limit or a cancellation of the task, the caller gets an error at once. The
    /// server may still run the command, and the client drops the reply. A caller that needs a
    /// late reply, for example to undo the command, must pass a long limit and use its own timer.
    /// - Parameters:
    ///   - command: The command.
    ///   - limit: The time limit for the reply.
    /// - Returns: The reply, which is never an error.
    /// - Throws: ``/TurnpikeCore/ClientError`` if the server refuses the command or does not answer
    ///   in time, and `CancellationError`.
    public func send(_ command: ValkeyCommand, within limit: Duration) async throws -> ValkeyValue {
        let (value, pending) = try await reply(to: command, within: limit)
        if case .error(let text) = value {
            let name = String(decoding: command.arguments.first ?? Data(), as: UTF8.self)
            throw ValkeyFault.refused(text, name: name.uppercased(), at: pending.server)
        }
        return value
    }

    /// Closes all connections.
    ///
    /// Commands without a reply fail, and later commands fail too.
    public func shutdown() async { await engine.shutdown() }

    /// The limits and the number of connections.
    ///
    /// Values outside of the allowed range are replaced by the nearest allowed value.
    public var configuration: Configuration { engine.configuration }

    /// An executor on the thread of the client's connections.
    ///
    /// The commands of a task on this thread wake no other thread. With this executor, 64
    /// simultaneous look-ups in a store of responses take about half of the time (`bench
    /// fleet-cache`). All tasks on this executor share one core:
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(server.executor) {
    ///     try await withThrowingTaskGroup(of: ValkeyValue.self) { group in
    ///         for id in ids {
    ///             group.addTask { try await server.send(ValkeyCommand("GET", id), within: limit) }
    ///         }
    ///         for try await value in group { forward(value) }
    ///     }
    /// }
    /// ```
    ///
    /// The executor is suitable for tasks with little work. Long computations and blocking calls
    /// delay every command and reply, and belong on another thread. Child tasks also run on this
    /// thread, but actors with their own executor and plain `Task { }` do not. After the client's
    /// shutdown, the remaining tasks run on the system's threads.
    ///
    /// The design follows tokio's current-thread runtime and SwiftNIO's event loops (SE-0417).
    public var executor: any TaskExecutor { engine }

    var waiting: Int { engine.state.withLock { $0.waiting } }
}

extension ValkeyServer: DescriptionReflectable {
    /// The URL without the password.
    public var description: String { "ValkeyServer(\(engine.url.description))" }
}

extension ValkeyServer {
    /// The settings for connections, and the limits of commands.
    public struct Configuration: Sendable {
        /// The number of connections to each node, from 1 to 16.
        ///
        /// The commands of one connection are answered in order. With a second connection, short
        /// commands do not wait behind large values.
        public var connections = 1
        /// The longest total time for finding a host, connecting and logging in.
        public var connectLimit = Duration.seconds(2)
        /// The longest wait of the oldest command for a reply before the connection is closed.
        ///
        /// If the oldest command has a longer limit, the longer limit applies.
        public var stallLimit = Duration.seconds(2)
        /// The maximum number of commands that may wait for a reply.
        ///
        /// If so many commands wait, another fails at once.
        public var maxWaitingCommands = 10_000
        /// The maximum number of bytes of commands that are not sent yet.
        ///
        /// Beyond this number, a further command fails at once.
        public var maxWaitingBytes = 16 << 20
        /// The maximum number of bytes of one reply.
        ///
        /// A larger reply ends the connection.
        public var maxReplyBytes = 64 << 20
        /// The maximum number of values in one reply.
        ///
        /// A reply with more values ends the connection.
        public var maxReplyValues = 1 << 20

        /// A PEM file with the trusted authorities for `rediss`, or nil for the system's
        /// authorities.
        public var certificateAuthorities: String?

        /// Creates the default configuration.
        public init() {}
    }
}

extension ValkeyServer.Configuration {
    // The configuration with values that are limited to the allowed ranges.
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
        ReplyLimits(maxBytes: maxReplyBytes, maxValues: maxReplyValues)
    }
}
