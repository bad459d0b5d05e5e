// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore

/// Reports the connections of an engine to a meter, at the end of each iteration in which they changed.
// SAFETY: an engine uses it under its lock. The loop, which calls back, does so only within iterations.
final class ConnectionFigures: @unchecked Sendable {
    private struct Labels {
        let all: [String: String]
        let active: [String: String]
        let idle: [String: String]

        init(_ group: ConnectionTable.Group) {
            var all =
                group.origin?.meterLabels ?? ["server.address": "_OTHER", "server.port": ""]
            // All series have the same labels: some back ends accept nothing else.
            all["network.peer.address"] = group.address ?? "_OTHER"
            all["network.peer.port"] = group.port > 0 ? String(group.port) : ""
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
        reused: "Requests that went out on a connection of an earlier request.",
    ]

    private let meter: any GateMeter
    fileprivate var table = ConnectionTable()
    private var labels: [ConnectionTable.Group: Labels] = [:]

    init(_ meter: any GateMeter) {
        self.meter = meter
        for (name, text) in Self.help { meter.describe(name, as: text) }
    }

    /// Reports what has changed.
    func tell() { for (group, change) in table.takeChanges() { tell(change, labels(of: group)) } }

    /// Reports that all connections were closed.
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

    // MARK: What the loop tells

    /// The functions that the loop calls; they do not keep the object alive.
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
    address: UnsafePointer<CChar>?, port: CInt
) {
    guard let transfer = unsafe transfer else { return }
    let whole = unsafe Unmanaged<CurlTransfer>.fromOpaque(transfer).takeUnretainedValue()
    unsafe figures(watcher)?.table.sending(
        UInt(bitPattern: transfer), from: Int(localPort), to: text(address), Int(port),
        whole.destination?.origin, at: CurlLoop.now, localPortOf: { Int(tpc_local_port($0)) })
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
