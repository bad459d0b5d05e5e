// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TurnpikeCore
import TurnpikeSupport

extension ValkeyServer {
    private static let redirectLimit = 5
    private static let firstPause: Int64 = 5_000_000
    private static let longestPause: Int64 = 80_000_000

    /// Sends a command to the node of the command's key, and follows redirects.
    ///
    /// During the move of a slot, the keys of one command may be on two nodes. In this case, the
    /// command is sent again after a pause, within the time limit.
    /// - Returns: The reply, which may be an error of the server, and the pending reply.
    nonisolated(nonsending) func reply(
        to command: ValkeyCommand, within limit: Duration
    ) async throws -> (ValkeyValue, PendingReply) {
        let home = command.key.map(Route.key) ?? .any
        let pending = PendingReply(within: limit)
        let value = try await engine.exchange(command, to: home, pending)
        guard case .error = value else { return (value, pending) }
        return try await follow(value, pending, of: command, from: home)
    }

    // Sends a command again while the error contains another node or requires a pause.
    private func follow(
        _ value: ValkeyValue, _ pending: PendingReply, of command: ValkeyCommand, from home: Route
    ) async throws -> (ValkeyValue, PendingReply) {
        var (value, pending) = (value, pending)
        var redirects = 0
        var pause = Self.firstPause
        while case .error(let text) = value, let server = pending.server {
            let route: Route
            if text.hasPrefix("TRYAGAIN"), Poller.now.addingClamped(pause) < pending.deadline {
                try await wait(.nanoseconds(pause))
                pause = min(pause * 2, Self.longestPause)
                route = home
                redirects = 0
            } else if let redirect = ClusterRedirect(text, by: server) {
                redirects += 1
                if redirects > Self.redirectLimit {
                    throw ClientError(
                        .connection,
                        "the nodes of the cluster redirect a command too often; the last node"
                            + " was \(server)")
                }
                route = self.route(of: redirect)
            } else {
                break
            }
            pending = PendingReply(within: pending.limit, until: pending.deadline)
            value = try await engine.exchange(command, to: route, pending)
        }
        return (value, pending)
    }

    private func wait(_ pause: Duration) async throws {
        let moment = OneShot<Void>()
        let timer = engine.timeSource.schedule(after: pause) { moment.settle(.success(())) }
        defer { timer.cancel() }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }

    private func route(of redirect: ClusterRedirect) -> Route {
        switch redirect {
        case .moved(let slot, let address):
            engine.moved(slot, to: address)
            return .node(address)
        case .ask(let address): return .asking(address)
        }
    }

    // MARK: Scripts

    /// Runs a script.
    ///
    /// The client sends the source of the script only if the server does not have the script.
    /// - Parameters:
    ///   - script: The script.
    ///   - keys: The keys that the script uses. In a cluster, all keys must share a hash tag.
    ///   - arguments: The arguments of the script.
    ///   - limit: The time limit for the reply.
    /// - Returns: The reply, which is never an error.
    /// - Throws: ``/TurnpikeCore/ClientError`` if the server refuses the script or does not answer
    ///   in time, and `CancellationError`.
    public func run(
        _ script: ValkeyScript, keys: [String], arguments: [Data], within limit: Duration
    ) async throws -> ValkeyValue {
        let key = keys.first.map { Data($0.utf8) }
        let rest = [Data("\(keys.count)".utf8)] + keys.map { Data($0.utf8) } + arguments
        func send(_ name: String, _ script: Data) async throws -> (ValkeyValue, PendingReply) {
            let command = ValkeyCommand([Data(name.utf8), script] + rest, key: key)
            return try await reply(to: command, within: limit)
        }
        let (known, pending) = try await send("EVALSHA", script.digest)
        guard case .error(let text) = known else { return known }
        guard text.hasPrefix("NOSCRIPT") else {
            throw ValkeyFault.refused(text, name: "EVALSHA", keys: keys, at: pending.server)
        }
        let (value, other) = try await send("EVAL", Data(script.source.utf8))
        if case .error(let text) = value {
            throw ValkeyFault.refused(text, name: "EVAL", keys: keys, at: other.server)
        }
        return value
    }

    // MARK: Nodes

    /// Returns one key for each node of a cluster.
    ///
    /// A command with such a key is sent to that node.
    /// - Parameter limit: The time limit for the reply.
    /// - Returns: The keys, or a single nil for a server outside of a cluster.
    /// - Throws: ``/TurnpikeCore/ClientError`` if the server does not answer in time, and
    ///   `CancellationError`.
    public func keysOfNodes(within limit: Duration) async throws -> [String?] {
        let (value, pending) = try await reply(
            to: ValkeyCommand("CLUSTER", "SLOTS"), within: limit)
        if case .error(let text) = value, !text.contains("cluster support disabled") {
            throw ValkeyFault.refused(text, name: "CLUSTER", at: pending.server)
        }
        guard let server = pending.server, let table = SlotTable(value, by: server),
            !table.nodes.isEmpty
        else { return [nil] }
        var keys: [NodeAddress: String] = [:]
        // For a node with one slot, the chance that no number is in the slot is 10^-13.
        for number in 0..<500_000 where keys.count < table.nodes.count {
            let key = String(number)
            guard let node = table.owner(of: KeySlot.of(Data(key.utf8))) else { continue }
            if keys[node] == nil { keys[node] = key }
        }
        return Array(keys.values)
    }
}
