// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

struct QueuedCommand {
    let bytes: [UInt8]
    let pending: PendingReply
    let route: Route
}

// SAFETY: the object is used only inside the engine's lock.
final class Node: @unchecked Sendable {
    // The possible addresses. The addresses of the URL precede the addresses that replicas have
    // reported.
    var addresses: [NodeAddress]
    let given: Int
    var index = 0
    var connections: [Connection] = []
    var knownAddress: NodeAddress?
    var line: [QueuedCommand] = []

    var fault: ClientError?
    /// The number of failed attempts in a row, and of tried addresses since the last pause.
    var failures = 0
    var tried = 0
    var retryAt = Int64.min
    var wantedAt = Int64.min
    var isRetired = false

    private static let extraLimit = 8

    init(_ addresses: [NodeAddress]) {
        self.addresses = addresses
        given = addresses.count
    }

    var address: NodeAddress { addresses[index] }
    var isConnected: Bool { connections.contains { $0.life.isReady } }
    var isTrying: Bool { connections.contains { !$0.life.isReady } }

    /// The connection with the fewest waiting commands.
    var bestConnection: Connection? {
        if connections.count == 1 { return connections[0].life.isReady ? connections[0] : nil }
        return connections.filter(\.life.isReady).leastBusy
    }

    func succeed(at address: NodeAddress) {
        knownAddress = address
        fault = nil
        failures = 0
        tried = 0
        retryAt = .min
    }

    func advance(from address: NodeAddress) {
        guard self.address == address else { return }
        tried += 1
        index = (index + 1) % addresses.count
    }

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

    /// Continues with the address of the primary that a replica has reported.
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
    var leastBusy: Connection? { self.min { $0.life.pending.count < $1.life.pending.count } }
}
