// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore

/// Reports the connections of an engine to a meter, after each iteration with a change.
// SAFETY: an engine uses the object under the engine's lock. The loop calls back only within
// iterations.
final class ConnectionFigures: @unchecked Sendable {
    private struct Labels {
        let all: [String: String]
        let active: [String: String]
        let idle: [String: String]

        init(_ group: ConnectionTable.Group) {
            var all =
                group.origin?.meterLabels ?? ["server.address": "_OTHER", "server.port": ""]
            // All series have the same labels, because some back ends require equal labels.
            all["network.peer.address"] = group.address ?? "_OTHER"
            all["network.peer.port"] = group.port > 0 ? String(group.port) : ""
            all["network.protocol.version"] = ["", "1.1", "2", "3"][group.version]
            self.all = all
            active = all.merging(["http.connection.state": "active"]) { $1 }
            idle = all.merging(["http.connection.state": "idle"]) { $1 }
        }
    }

    private static let open = "http.client.open_connections"
    private static let duration = "http.client.connection.duration"
    private static let opened = "turnpike.connections.opened"
    private static let closed = "turnpike.connections.closed"
    private static let reused = "turnpike.connections.reused"

    static let help = [
        open: "Connections that are open, active or idle.",
        duration: "Duration of connections from their first request on, in seconds.",
        opened: "Connections that were opened.",
        closed: "Connections that were closed.",
        reused: "Requests that used the connection of an earlier request.",
    ]

    private let meter: any GateMeter
    var table = ConnectionTable()
    private var labels: [ConnectionTable.Group: Labels] = [:]

    init(_ meter: any GateMeter) {
        self.meter = meter
        for (name, text) in Self.help { meter.describe(name, as: text) }
    }

    func tell() { for (group, change) in table.takeChanges() { tell(change, labels(of: group)) } }

    func close() {
        table.closedAll(at: CurlLoop.now)
        tell()
    }

    private func tell(_ change: ConnectionTable.Change, _ labels: Labels) {
        func count(_ number: Int, _ name: String) {
            if number > 0 { meter.add(Double(number), to: name, labels: labels.all) }
        }
        if change.active != 0 {
            meter.change(Self.open, by: Double(change.active), labels: labels.active)
        }
        if change.idle != 0 {
            meter.change(Self.open, by: Double(change.idle), labels: labels.idle)
        }
        count(change.opened, Self.opened)
        count(change.reused, Self.reused)
        count(change.closed, Self.closed)
        for age in change.ages {
            meter.record(.milliseconds(age), to: Self.duration, labels: labels.all)
        }
    }

    private func labels(of group: ConnectionTable.Group) -> Labels {
        if let known = labels[group] { return known }
        let new = Labels(group)
        labels[group] = new
        return new
    }

    // MARK: Callbacks of the loop

    // The functions that the loop calls. The functions do not retain this object.
    var watcher: tpc_pool_watcher {
        unsafe tpc_pool_watcher(
            watcher: Unmanaged.passUnretained(self).toOpaque(), opening: noteOpening,
            sending: noteSending, waiting: noteWaiting, ended: noteEnded, closed: noteClosed)
    }
}

private func figures(_ watcher: UnsafeMutableRawPointer?) -> ConnectionFigures? {
    guard let watcher = unsafe watcher else { return nil }
    return unsafe Unmanaged<ConnectionFigures>.fromOpaque(watcher).takeUnretainedValue()
}

private func text(_ start: UnsafePointer<CChar>?) -> String {
    guard let start = unsafe start else { return "" }
    return unsafe String(cString: start)
}

private func noteOpening(
    watcher: UnsafeMutableRawPointer?, transfer: UnsafeMutableRawPointer?, descriptor: CInt,
    address: UnsafePointer<CChar>?, port: CInt
) {
    unsafe figures(watcher)?.table.opening(
        descriptor, for: UInt(bitPattern: transfer), to: text(address), Int(port),
        at: CurlLoop.now)
}

private func noteSending(
    watcher: UnsafeMutableRawPointer?, transfer: UnsafeMutableRawPointer?, localPort: CInt,
    address: UnsafePointer<CChar>?, port: CInt, version: CInt
) {
    guard let transfer = unsafe transfer else { return }
    let whole = unsafe Unmanaged<CurlTransfer>.fromOpaque(transfer).takeUnretainedValue()
    unsafe figures(watcher)?.table.sending(
        UInt(bitPattern: transfer), from: Int(localPort), to: text(address), Int(port),
        whole.destination?.origin, version: Int(version), at: CurlLoop.now,
        localPortOf: { Int(tpc_local_port($0)) })
}

private func noteWaiting(
    watcher: UnsafeMutableRawPointer?, transfer: UnsafeMutableRawPointer?, descriptor: CInt
) { unsafe figures(watcher)?.table.waiting(UInt(bitPattern: transfer), for: descriptor) }

private func noteEnded(watcher: UnsafeMutableRawPointer?, transfer: UnsafeMutableRawPointer?) {
    unsafe figures(watcher)?.table.ended(UInt(bitPattern: transfer))
}

private func noteClosed(watcher: UnsafeMutableRawPointer?, descriptor: CInt) {
    unsafe figures(watcher)?.table.closed(descriptor, at: CurlLoop.now)
}

/// The open connections of an engine, with the number of transfers on each connection.
///
/// A connection counts from the first request on. A connection with a failed handshake never
/// counts. A connection with a transfer is active, and other connections are idle. libcurl reports
/// only the ports of a request's connection. The connection of a Unix socket is found when libcurl
/// waits for the socket.
struct ConnectionTable {
    struct Change: Equatable {
        var active = 0
        var idle = 0
        var opened = 0
        var closed = 0
        var reused = 0
        /// The open times of closed connections in milliseconds.
        var ages: [Int64] = []
    }

    struct Group: Hashable {
        /// The origin of the request that opened a connection, or nil in groups above the limit.
        var origin: Origin?
        /// The IP address or the path of the Unix socket, or nil in groups above the limit.
        var address: String?
        /// The peer's port, or 0 for a Unix socket.
        var port = 0
        /// The version of HTTP from 1 to 3, or 0 if unknown.
        var version: Int
    }

    typealias Transfer = UInt

    // A socket without a sent request.
    private struct Attempt {
        let transfer: Transfer
        let address: String
        let port: Int
    }

    private struct Connection {
        // A number that differs for a later connection with the same descriptor.
        let number: Int
        let group: Int
        let localPort: Int
        let address: String
        let port: Int
        let since: Int64
        var transfers = 1
    }

    private enum Place {
        case on(Int32, number: Int)
        // The transfer uses a Unix socket that libcurl has not waited for yet.
        case unknown
    }

    private var attempts: [Int32: Attempt] = [:]
    private var connections: [Int32: Connection] = [:]
    // One local port may have connections to several peers.
    private var ports: [Int: [Int32]] = [:]
    private var places: [Transfer: Place] = [:]
    private var groups: [Group] = []
    private var indices: [Group: Int] = [:]
    private var changes: [Int: Change] = [:]
    private var count = 0
    private let maxGroups: Int

    /// Creates a table with at most `maxGroups` groups with a peer, and as many without a peer.
    init(maxGroups: Int = 1000) { self.maxGroups = maxGroups }

    /// The numbers of open and of active connections.
    var counts: (open: Int, active: Int) {
        (connections.count, connections.values.count { $0.transfers > 0 })
    }

    var isEmpty: Bool { attempts.isEmpty && connections.isEmpty && places.isEmpty && ports.isEmpty }

    mutating func takeChanges() -> [(Group, Change)] {
        if changes.isEmpty { return [] }
        defer { changes.removeAll(keepingCapacity: true) }
        return changes.compactMap { $1 == Change() ? nil : (groups[$0], $1) }
    }

    // MARK: Events

    mutating func opening(
        _ descriptor: Int32, for transfer: Transfer, to address: String, _ port: Int, at now: Int64
    ) {
        // The system reuses a descriptor only after the descriptor was closed.
        closed(descriptor, at: now)
        attempts[descriptor] = Attempt(transfer: transfer, address: address, port: port)
    }

    // Records a request before the send. `localPort` is 0 for a Unix socket. `now` is in
    // milliseconds.
    mutating func sending(
        _ transfer: Transfer, from localPort: Int, to address: String, _ port: Int,
        _ origin: @autoclosure () -> Origin?, version: Int = 1, at now: Int64,
        localPortOf: (Int32) -> Int
    ) {
        leave(transfer)
        if let new = attempts.first(where: { descriptor, attempt in
            attempt.transfer == transfer && localPortOf(descriptor) == localPort
        })?.key {
            open(new, for: transfer, localPort, origin(), version, now)
        } else if let known = connection(localPort, address, port) {
            join(transfer, known)
        } else if localPort > 0,
            let left = attempts.first(where: { localPortOf($0.key) == localPort })?.key
        {
            // libcurl created the socket for another request, which was refused.
            open(left, for: transfer, localPort, origin(), version, now)
        } else {
            places[transfer] = .unknown
        }
    }

    mutating func waiting(_ transfer: Transfer, for descriptor: Int32) {
        if case .unknown? = places[transfer], connections[descriptor] != nil {
            join(transfer, descriptor)
        }
    }

    mutating func ended(_ transfer: Transfer) { leave(transfer) }

    mutating func closed(_ descriptor: Int32, at now: Int64) {
        attempts[descriptor] = nil
        guard let connection = connections.removeValue(forKey: descriptor) else { return }
        ports[connection.localPort]?.removeAll { $0 == descriptor }
        if ports[connection.localPort]?.isEmpty == true { ports[connection.localPort] = nil }
        change(connection) { change in
            if connection.transfers > 0 { change.active -= 1 } else { change.idle -= 1 }
            change.closed += 1
            change.ages.append(now - connection.since)
        }
    }

    /// Records that all sockets are closed and all transfers have ended.
    mutating func closedAll(at now: Int64) {
        for descriptor in connections.keys { closed(descriptor, at: now) }
        attempts = [:]
        places = [:]
    }

    // MARK: The connection of a transfer

    private mutating func open(
        _ descriptor: Int32, for transfer: Transfer, _ localPort: Int, _ origin: Origin?,
        _ version: Int, _ now: Int64
    ) {
        guard let attempt = attempts.removeValue(forKey: descriptor) else { return }
        count += 1
        let connection = Connection(
            number: count, group: group(origin, attempt, version), localPort: localPort,
            address: attempt.address, port: attempt.port, since: now)
        connections[descriptor] = connection
        if localPort > 0 { ports[localPort, default: []].append(descriptor) }
        places[transfer] = .on(descriptor, number: count)
        change(connection) { change in
            change.opened += 1
            change.active += 1
        }
    }

    private func connection(_ localPort: Int, _ address: String, _ port: Int) -> Int32? {
        guard let candidates = ports[localPort] else { return nil }
        if candidates.count == 1 { return candidates[0] }
        return candidates.first {
            connections[$0]?.port == port && connections[$0]?.address == address
        }
    }

    private mutating func join(_ transfer: Transfer, _ descriptor: Int32) {
        guard let connection = connections[descriptor] else { return }
        connections[descriptor]?.transfers += 1
        places[transfer] = .on(descriptor, number: connection.number)
        change(connection) { change in
            change.reused += 1
            guard connection.transfers == 0 else { return }
            change.idle -= 1
            change.active += 1
        }
    }

    private mutating func leave(_ transfer: Transfer) {
        guard case .on(let descriptor, let number)? = places.removeValue(forKey: transfer),
            let connection = connections[descriptor], connection.number == number
        else { return }
        connections[descriptor]?.transfers -= 1
        guard connection.transfers == 1 else { return }
        change(connection) { change in
            change.active -= 1
            change.idle += 1
        }
    }

    // MARK: Groups

    private mutating func change(_ connection: Connection, _ body: (inout Change) -> Void) {
        body(&changes[connection.group, default: Change()])
    }

    private mutating func group(_ origin: Origin?, _ attempt: Attempt, _ version: Int) -> Int {
        var group = Group(
            origin: origin, address: attempt.address, port: attempt.port, version: version)
        if let index = indices[group] { return index }
        if groups.count >= maxGroups {
            group = Group(
                origin: groups.count >= 2 * maxGroups ? nil : origin, version: version)
            if let index = indices[group] { return index }
        }
        groups.append(group)
        indices[group] = groups.count - 1
        return groups.count - 1
    }
}
