// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// A Valkey or Redis server, a cluster of them, or a primary with its replicas.
///
/// ```swift
/// let server = try ValkeyServer(url: "redis://user:password@cache.internal:6379/0")
/// let value = try await server.send(ValkeyCommand("GET", "greeting"), within: .milliseconds(50))
/// ```
///
/// It connects in the background when it is made, and again after a loss. Commands of many tasks
/// share a few connections. A command that cannot be sent fails at once if the last try to connect
/// has failed and the next one is not due; otherwise it waits for the connection within its limit.
public final class ValkeyServer: Sendable {
    let engine: ValkeyEngine

    /// Creates a client, which begins to connect; if that fails, the first command fails with the
    /// error.
    /// - Parameters:
    ///   - url: `redis://user:password@host:6379/0`; `rediss` for TLS, `unix:///path` for a socket.
    ///     A password without a user has an empty user: `redis://:password@host`. Characters with a
    ///     meaning in URLs are percent-encoded. Several hosts with commas between them are nodes of
    ///     a cluster, or a primary and its replicas: `redis://a:6379,b:6379/0`.
    ///   - configuration: Limits, and the number of connections.
    ///   - meter: Receives commands (`turnpike.valkey.commands`), those without a reply
    ///     (`turnpike.valkey.failures`), connections that were made (`turnpike.valkey.connects`) and
    ///     open ones (`turnpike.valkey.connections`).
    /// - Throws: ``/TurnpikeCore/ClientError`` if the URL is wrong, or if libhiredis is missing or too
    ///   old.
    public init(
        url: String, configuration: Configuration = Configuration(),
        meter: (any GateMeter)? = nil
    ) throws {
        let url = try ValkeyURL(url)
        try HiredisLibrary.load()
        let tls =
            url.isSecure
            ? try TLSContext(authorities: configuration.certificateAuthorities) : nil
        engine = try ValkeyEngine(
            url: url, tls: tls, configuration: configuration.bounded, meter: meter)
    }

    init(_ engine: ValkeyEngine) { self.engine = engine }

    /// Returns whether a connection to this URL is safe from readers: it is encrypted, or does not
    /// leave the machine.
    /// - Throws: ``/TurnpikeCore/ClientError`` if the URL is wrong.
    public static func hidesTraffic(url: String) throws -> Bool { try ValkeyURL(url).hidesTraffic }

    deinit { engine.stop() }

    /// Sends a command.
    ///
    /// At the limit, or when the task is cancelled, the caller has the error at once. The server may
    /// still run the command; its reply is then dropped. A caller that needs a late reply, to undo
    /// what the command did, waits with a long limit and a timer of its own.
    /// - Parameters:
    ///   - command: The command.
    ///   - limit: How long the answer may take.
    /// - Returns: The reply; never an error.
    /// - Throws: ``/TurnpikeCore/ClientError`` if the server refuses it or does not answer in time,
    ///   and `CancellationError`.
    public func send(_ command: ValkeyCommand, within limit: Duration) async throws -> ValkeyValue {
        let (value, pending) = try await reply(to: command, within: limit)
        if case .error(let text) = value {
            let name = String(decoding: command.arguments.first ?? Data(), as: UTF8.self)
            throw ValkeyFault.refused(text, name: name.uppercased(), at: pending.server)
        }
        return value
    }

    /// Closes all connections; commands without a reply fail, and so do later ones.
    public func shutdown() async { await engine.shutdown() }

    /// The limits and the number of connections, within what is allowed.
    public var configuration: Configuration { engine.configuration }

    /// An executor on the thread that waits for the server.
    ///
    /// Between a task that sends and the network there is then no other thread to wake: 64 look-ups at
    /// once in a store of responses take about half of the time (`bench fleet-cache`), but all of them
    /// share one core:
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
    /// It suits tasks that do little work. A task that computes for long there, or blocks, delays
    /// every command and reply; move such work elsewhere. Child tasks run there too; actors with an
    /// executor of their own, and plain `Task { }`, do not. After the shutdown of the client, the
    /// remaining tasks run on the system's threads.
    ///
    /// From tokio's current-thread runtime and SwiftNIO's event loops; SE-0417.
    public var executor: any TaskExecutor { engine }

    /// Commands without a reply.
    var waiting: Int { engine.state.withLock { $0.waiting } }
}

extension ValkeyServer: DescriptionReflectable {
    /// The URL without the password.
    public var description: String { "ValkeyServer(\(engine.url.description))" }
}

extension ValkeyServer {
    /// How a client connects, and how many commands may wait.
    public struct Configuration: Sendable {
        /// The connections to each node, 1 to 16.
        ///
        /// Commands share a connection, one after the other. A second one lets short commands pass
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
        ReplyLimits(maxBytes: maxReplyBytes, maxValues: maxReplyValues)
    }
}
