// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import TurnpikeCore

/// A command that waits for a connection.
struct QueuedCommand {
    let bytes: [UInt8]
    let pending: PendingReply
    let route: Route
}

/// A server, or the primary among several.
// SAFETY: it is accessed inside the engine's lock.
final class Node: @unchecked Sendable {
    /// The addresses that may be the node's; the first few were given, a replica may have named more.
    var addresses: [NodeAddress]
    let given: Int
    /// The one that is used, or tried next.
    var index = 0
    var links: [Link]
    var line: [QueuedCommand] = []

    /// The error of the last attempt to connect; nil if there is a connection, or none was tried.
    var fault: ClientError?
    /// Tries in a row that have failed, and addresses tried since the last pause.
    var failures = 0
    var tried = 0
    /// Before this time nothing is tried again.
    var retryAt = Int64.min
    /// The time of the last command for the node.
    var wantedAt = Int64.min
    /// The cluster does not name it any more.
    var isRetired = false

    private static let extraLimit = 8

    init(_ addresses: [NodeAddress], connections: Int) {
        self.addresses = addresses
        given = addresses.count
        links = (0..<connections).map { _ in Link(addresses[0]) }
    }

    var address: NodeAddress { addresses[index] }
    var hasLink: Bool { links.contains { $0.phase == .ready } }
    var isTrying: Bool { links.contains { $0.isUnderWay } }

    /// The connection on which a command waits for the fewest others.
    var bestLink: Link? {
        if links.count == 1 { return links[0].phase == .ready ? links[0] : nil }
        return links.filter { $0.phase == .ready }.min { $0.slots.count < $1.slots.count }
    }

    /// Goes on to the next address, unless another connection has done so already.
    func advance(from address: NodeAddress) {
        guard self.address == address else { return }
        tried += 1
        index = (index + 1) % addresses.count
    }

    /// Takes the addresses of other nodes of a cluster, of which each can be asked for the slots.
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

    /// Goes on to the address that a replica has named.
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

/// A command that was written to a connection, and whose reply has not come.
struct Slot {
    enum Kind {
        case command
        /// The `OK` of `ASKING`.
        case asking
        /// The slots of the cluster.
        case slots
    }

    var kind: Kind
    var pending: PendingReply?
    /// When the connection is given up if there is no reply.
    var stallsAt: Int64
}

/// What is asked first on a connection.
enum GreetingStep { case auth, select, slots, role, ping }

/// One connection to a node.
// SAFETY: all but `reader` and `sending` is accessed inside the engine's lock. The engine's
// thread alone uses `reader`; the one who has set `isWriting` alone uses `sending` and `sent`.
final class Link: @unchecked Sendable {
    enum Phase { case closed, resolving, connecting, securing, greeting, ready }

    var phase = Phase.closed
    var address: NodeAddress
    var fd: Int32 = -1
    /// The addresses of the host that were not tried yet.
    var candidates: [tpv_address] = []
    /// When connecting and greeting must have ended, and when the current address is given up.
    var connectDeadline = Int64.max
    var addressDeadline = Int64.max
    var greeting: [GreetingStep] = []
    var greetingPlace = 0
    var hasReceived = false
    /// The server that was ready last, which is known to speak as it is spoken to.
    var knownAddress: NodeAddress?
    var isKnown: Bool { knownAddress == address }

    var slots = SlotQueue()
    /// A lower bound of the deadlines of the callers that wait.
    var nextDeadline = Int64.max

    var output: [UInt8] = []
    var gathering = Gathering()
    var isWriting = false
    /// The socket takes no more for now.
    var isBlocked = false
    /// The handshake needs to write.
    var wantsWrite = false
    /// Closed while somebody was writing, who then closes the descriptor.
    var closesAfterWrite = false
    var writeFault: Int64 = 0
    /// Why connecting failed, until that is acted on.
    var connectFault: Int32?
    var securityFault: String?

    // Of the one who writes.
    var sending: [UInt8] = []
    var sent = 0

    // Of the thread.
    var reader: ReplyReader?
    /// Nil without TLS; only the thread writes then too.
    var tls: TLSChannel?

    init(_ address: NodeAddress) { self.address = address }

    var isUnderWay: Bool {
        switch phase {
        case .resolving, .connecting, .securing, .greeting: true
        case .closed, .ready: false
        }
    }

    /// Whether somebody may begin to write.
    var canWrite: Bool { phase == .ready && !isWriting && !isBlocked }

    /// Bytes that were not handed to the system.
    var unsentBytes: Int { output.count + (isWriting || isBlocked ? sending.count : 0) }

    func append(_ bytes: UnsafeRawBufferPointer) { unsafe output.append(contentsOf: bytes) }
}

/// Slots in the order of their commands.
struct SlotQueue {
    private var slots: [Slot?] = []
    private var head = 0

    var count: Int { slots.count - head }
    var isEmpty: Bool { head == slots.count }
    var first: Slot? { isEmpty ? nil : slots[head] }

    mutating func append(_ slot: Slot) { slots.append(slot) }

    mutating func popFirst() -> Slot? {
        guard head < slots.count else { return nil }
        let slot = slots[head].take()
        head += 1
        if head == slots.count {
            slots.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024, head * 2 >= slots.count {
            slots.removeFirst(head)
            head = 0
        }
        return slot
    }

    /// Lets go of the callers for which a condition holds; their slots stay.
    mutating func release(_ body: (PendingReply) -> Bool) {
        for index in head..<slots.count {
            if let pending = slots[index]?.pending, body(pending) { slots[index]?.pending = nil }
        }
    }
}
