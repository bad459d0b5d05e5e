// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import TurnpikeCore

// SAFETY: the object is used only inside the engine's lock. `channel` and `fd` do not change after
// the connect.
final class Connection: @unchecked Sendable {
    let node: Node
    let address: NodeAddress
    /// Whether a server was ready at this address earlier, which shows that the URL's scheme is
    /// right.
    let isKnown: Bool
    var life = ConnectionStateMachine()

    /// The deadline for connecting and greeting, and the time at which the current address counts
    /// as failed.
    let deadline: Int64
    var addressDeadline = Int64.max
    /// The addresses of the host that were not tried yet.
    var candidates: ArraySlice<tpv_address> = []
    private(set) var fd: Int32 = -1
    var channel: Channel?
    /// The first commands of the connection that still wait for a reply.
    var greeting: ArraySlice<GreetingStep> = []

    /// The earliest deadline of waiting callers, or an earlier time.
    var nextDeadline = Int64.max
    private(set) var output: [UInt8] = []
    /// The bytes that were taken from the output but not sent, or no bytes while a thread writes.
    private var rest = Writing.Rest()
    private(set) var unsentBytes = 0
    var gathering = Gathering()

    init(to node: Node, until deadline: Int64) {
        self.node = node
        self.deadline = deadline
        address = node.address
        isKnown = node.knownAddress == address
    }

    /// Begins to connect to the next address of the host, or returns false if no address is left.
    func openNext(_ code: inout Int32?) -> Bool {
        release()
        while let candidate = candidates.popFirst() {
            fd = unsafe withUnsafePointer(to: candidate) { unsafe tpv_connect($0) }
            if fd >= 0 { return true }
            code = -fd
        }
        return false
    }

    /// Closes the descriptor, which no thread may be using.
    func release() {
        if fd >= 0 { tpv_close(fd) }
        fd = -1
    }

    func append(_ bytes: [UInt8]) {
        output += bytes
        unsentBytes += bytes.count
    }

    func takeOutput(at now: Int64) -> Writing {
        if rest.isEmpty {
            gathering.sent(at: now)
            swap(&output, &rest.bytes)
        }
        var taken = Writing.Rest()
        swap(&taken, &rest)
        return Writing(connection: self, rest: taken)
    }

    /// Takes the unsent bytes back from the writing thread, and reuses the memory of the sent
    /// bytes.
    func putBack(_ rest: inout Writing.Rest, sent count: Int) {
        unsentBytes -= count
        swap(&self.rest, &rest)
    }
}

struct Writing {
    struct Rest {
        var bytes: [UInt8] = []
        var place = 0

        var isEmpty: Bool { place >= bytes.count }

        mutating func drop(_ count: Int) {
            place += count
            if !isEmpty { return }
            // Only small memory is reused for the next command.
            bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 18)
            place = 0
        }
    }

    let connection: Connection
    var rest: Rest
}

/// The socket of a connection.
///
/// Only the engine's thread reads from the socket.
///
/// Only one thread at a time writes. With TLS, this is the engine's thread, because OpenSSL works
/// on one thread.
final class Channel {
    let reader: ReplyReader
    let tls: TLSChannel?
    private let fd: Int32
    /// Whether the server has sent a reply.
    var hasReceived = false

    init(_ fd: Int32, _ tls: TLSChannel?, _ limits: ReplyLimits) {
        reader = ReplyReader(limits)
        self.tls = tls
        self.fd = fd
    }

    /// - Returns: The number of sent bytes, 0 if no byte can be sent now, or a negative error.
    func send(_ rest: Writing.Rest) -> Int64 {
        unsafe rest.bytes.withUnsafeBufferPointer { bytes -> Int64 in
            guard let base = bytes.baseAddress, rest.place < bytes.count else { return 0 }
            let (part, count) = unsafe (base + rest.place, bytes.count - rest.place)
            return unsafe tls?.send(part, count) ?? tpv_send(fd, part, count)
        }
    }

    /// - Returns: The number of read bytes, 0 at the end, or a negative error.
    func receive(_ input: inout [UInt8]) -> Int64 {
        unsafe input.withUnsafeMutableBufferPointer {
            unsafe tls?.receive($0.baseAddress, $0.count)
                ?? tpv_receive(fd, $0.baseAddress, $0.count)
        }
    }
}

/// The first commands of a connection.
enum GreetingStep { case auth, select, slots, role, ping }
