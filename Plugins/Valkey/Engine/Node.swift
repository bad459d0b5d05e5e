// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// A command that waits for a connection.
struct QueuedCommand {
    let bytes: [UInt8]
    let pending: PendingReply
    let route: Route
}

/// A server, or the primary among several servers.
// SAFETY: used only inside the engine's lock.
final class Node: @unchecked Sendable {
    /// The possible addresses.
    ///
    /// The first few come from the URL; a replica may add more.
    var addresses: [NodeAddress]
    let given: Int
    /// The index of the address that is used, or tried next.
    var index = 0
    /// The connections that were begun and are not closed.
    var connections: [Connection] = []
    /// The address of the server that was ready last.
    var knownAddress: NodeAddress?
    var line: [QueuedCommand] = []

    /// The error of the last attempt to connect; nil if no attempt has failed since.
    var fault: ClientError?
    /// Attempts in a row that have failed, and addresses tried since the last pause.
    var failures = 0
    var tried = 0
    /// No attempt is made before this time.
    var retryAt = Int64.min
    /// The time of the last command for the node.
    var wantedAt = Int64.min
    /// Whether the cluster does not list the node any more.
    var isRetired = false

    private static let extraLimit = 8

    init(_ addresses: [NodeAddress]) {
        self.addresses = addresses
        given = addresses.count
    }

    var address: NodeAddress { addresses[index] }
    var isConnected: Bool { connections.contains { $0.life.isReady } }
    var isTrying: Bool { connections.contains { !$0.life.isReady } }

    /// The connection on which a new command waits for the fewest others.
    var bestConnection: Connection? {
        if connections.count == 1 { return connections[0].life.isReady ? connections[0] : nil }
        return connections.filter(\.life.isReady).leastBusy
    }

    /// Notes that a connection is ready.
    func succeed(at address: NodeAddress) {
        knownAddress = address
        fault = nil
        failures = 0
        tried = 0
        retryAt = .min
    }

    /// Moves on to the next address, unless another connection has already done so.
    func advance(from address: NodeAddress) {
        guard self.address == address else { return }
        tried += 1
        index = (index + 1) % addresses.count
    }

    /// Adds the addresses of other nodes of a cluster, because any node can be asked for the slots.
    func learn(_ found: [NodeAddress]) {
        let current = address
        var list = Array(addresses.prefix(given))
        for address in [current] + found
        where list.count < given + Self.extraLimit && !list.contains(address) {
            list.append(address)
        }
        addresses = list
        index = list.firstIndex(of: current) ?? 0
    }

    /// Moves on to the address that a replica has named.
    func follow(_ address: NodeAddress, from replica: NodeAddress) {
        guard self.address == replica else { return }
        tried += 1
        if let place = addresses.firstIndex(of: address) {
            index = place
        } else {
            if addresses.count >= given + Self.extraLimit { addresses.removeLast() }
            addresses.append(address)
            index = addresses.count - 1
        }
    }
}

extension Sequence where Element == Connection {
    /// The connection with the fewest commands without a reply.
    var leastBusy: Connection? { self.min { $0.life.pending.count < $1.life.pending.count } }
}
