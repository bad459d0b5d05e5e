// SPDX-License-Identifier: Apache-2.0

import Testing
import Turnpike

@testable import TurnpikeCurl

@Suite("The table of connections")
struct ConnectionTableTests {
    private typealias Change = ConnectionTable.Change

    private var table = ConnectionTable()
    private let origin = Origin(scheme: "http", host: "a.example", port: 80)

    /// All changes since the last time, of all groups.
    private mutating func changes() -> Change {
        table.takeChanges().reduce(into: Change()) { sum, change in
            sum.active += change.1.active
            sum.idle += change.1.idle
            sum.opened += change.1.opened
            sum.closed += change.1.closed
            sum.reused += change.1.reused
            sum.ages += change.1.ages
        }
    }

    /// Opens a connection whose socket has the local port 1000 and some.
    private mutating func open(
        _ descriptor: Int32, for transfer: UInt, to port: Int = 80, at now: Int64 = 0
    ) {
        table.opening(descriptor, for: transfer, to: "10.0.0.1", port, at: 0)
        send(transfer, from: 1000 + Int(descriptor), to: port, at: now)
    }

    private mutating func send(
        _ transfer: UInt, from localPort: Int, to port: Int = 80, at now: Int64 = 0
    ) {
        table.sending(
            transfer, from: localPort, to: "10.0.0.1", port, origin, at: now,
            localPortOf: { 1000 + Int($0) })
    }

    @Test("A connection is active, idle, active again, and closed")
    mutating func life() {
        open(3, for: 1, at: 100)
        #expect(changes() == Change(active: 1, opened: 1))
        #expect(table.counts == (1, 1))
        table.ended(1)
        #expect(changes() == Change(active: -1, idle: 1))
        #expect(table.counts == (1, 0))
        send(2, from: 1003)
        #expect(changes() == Change(active: 1, idle: -1, reused: 1))
        table.ended(2)
        table.ended(2)
        table.closed(3, at: 350)
        #expect(changes() == Change(active: -1, closed: 1, ages: [250]))
        #expect(table.isEmpty)
    }

    @Test("A turn in which a connection changes hands changes no gauge")
    mutating func handover() {
        open(3, for: 1)
        _ = changes()
        table.ended(1)
        send(2, from: 1003)
        #expect(changes() == Change(reused: 1))
    }

    @Test("An attempt that carried no request is no connection")
    mutating func attempts() {
        // Happy eyeballs: the second socket wins.
        table.opening(3, for: 1, to: "::1", 80, at: 0)
        open(4, for: 1)
        table.closed(3, at: 0)
        #expect(changes() == Change(active: 1, opened: 1))
        table.opening(5, for: 2, to: "10.0.0.1", 80, at: 0)
        table.closed(5, at: 0)
        table.ended(2)
        #expect(changes() == Change())
    }

    @Test("A connection whose first request was refused counts from the next one on")
    mutating func inherited() {
        table.opening(3, for: 1, to: "10.0.0.1", 80, at: 0)
        table.ended(1)
        send(2, from: 1003, at: 50)
        #expect(changes() == Change(active: 1, opened: 1))
        table.ended(2)
        send(3, from: 1003)
        table.ended(3)
        table.closed(3, at: 60)
        #expect(changes() == Change(active: -1, closed: 1, reused: 1, ages: [10]))
        #expect(table.isEmpty)
    }

    @Test("A connection that carries several transfers is idle after the last one")
    mutating func multiplexing() {
        open(3, for: 1)
        for transfer in 2...5 { send(UInt(transfer), from: 1003) }
        #expect(changes() == Change(active: 1, opened: 1, reused: 4))
        for transfer in [3, 1, 5, 4] { table.ended(UInt(transfer)) }
        #expect(changes() == Change())
        table.ended(2)
        #expect(changes() == Change(active: -1, idle: 1))
    }

    @Test("A connection that dies under its transfers is closed once, and they end later")
    mutating func death() {
        open(3, for: 1)
        send(2, from: 1003)
        _ = changes()
        table.closed(3, at: 7)
        #expect(changes() == Change(active: -1, closed: 1, ages: [7]))
        // The descriptor belongs to another connection by then.
        open(3, for: 9)
        table.ended(1)
        table.ended(2)
        #expect(changes() == Change(active: 1, opened: 1))
    }

    @Test("A request that libcurl sends again has left its first connection")
    mutating func resend() {
        open(3, for: 1)
        table.ended(1)
        send(2, from: 1003)
        table.opening(4, for: 2, to: "10.0.0.1", 80, at: 0)
        table.closed(3, at: 0)
        send(2, from: 1004)
        #expect(changes() == Change(active: 1, opened: 2, closed: 1, reused: 1, ages: [0]))
        table.ended(2)
        table.closed(4, at: 0)
        #expect(changes() == Change(active: -1, closed: 1, ages: [0]))
        #expect(table.isEmpty)
    }

    @Test("The same local port may lead to several peers")
    mutating func ports() {
        table.opening(3, for: 1, to: "10.0.0.1", 80, at: 0)
        table.opening(4, for: 2, to: "10.0.0.1", 81, at: 0)
        for (transfer, port) in [(UInt(1), 80), (2, 81)] {
            table.sending(
                transfer, from: 1000, to: "10.0.0.1", port, origin, at: 0,
                localPortOf: { _ in 1000 })
        }
        for transfer in [UInt(1), 2] { table.ended(transfer) }
        _ = table.takeChanges()
        table.sending(
            5, from: 1000, to: "10.0.0.1", 81, origin, at: 0, localPortOf: { _ in 1000 })
        let changes = table.takeChanges()
        #expect(changes.map(\.0.port) == [81])
        #expect(changes.map(\.1) == [Change(active: 1, idle: -1, reused: 1)])
    }

    @Test("A request on a Unix socket is found by the socket that it waits for")
    mutating func unixSockets() {
        func send(_ transfer: UInt, _ table: inout ConnectionTable) {
            table.sending(transfer, from: 0, to: "", 0, origin, at: 0, localPortOf: { _ in 0 })
        }
        table.opening(3, for: 1, to: "/run/a.sock", 0, at: 0)
        send(1, &table)
        #expect(changes() == Change(active: 1, opened: 1))
        table.waiting(1, for: 3)
        table.ended(1)
        send(2, &table)
        #expect(changes() == Change(active: -1, idle: 1))
        table.waiting(2, for: 3)
        table.waiting(2, for: 3)
        #expect(changes() == Change(active: 1, idle: -1, reused: 1))
        table.ended(2)
        // Answered before anybody waited.
        send(3, &table)
        table.ended(3)
        table.closed(3, at: 0)
        #expect(changes() == Change(active: -1, closed: 1, ages: [0]))
        #expect(table.isEmpty)
    }

    @Test("All are closed at the end, whatever they carry")
    mutating func end() {
        for number in 3..<10 { open(Int32(number), for: UInt(number)) }
        for number in 3..<6 { table.ended(UInt(number)) }
        table.opening(20, for: 5, to: "10.0.0.1", 80, at: 0)
        _ = changes()
        table.closedAll(at: 0)
        let end = changes()
        #expect(end.active == -4)
        #expect(end.idle == -3)
        #expect(end.closed == 7)
        #expect(table.isEmpty)
    }

    @Test("Peers and origins beyond the bound are counted together")
    mutating func bounds() {
        table = ConnectionTable(maxGroups: 10)
        var groups: Set<ConnectionTable.Group> = []
        for number in 0..<100 {
            let origin = Origin(scheme: "http", host: "h\(number)", port: 80)
            let transfer = UInt(number + 1)
            table.opening(3, for: transfer, to: "10.0.0.\(number)", 80, at: 0)
            table.sending(
                transfer, from: 1, to: "10.0.0.\(number)", 80, origin, at: 0,
                localPortOf: { _ in 1 })
            table.ended(transfer)
            table.closed(3, at: 0)
            for (group, _) in table.takeChanges() { groups.insert(group) }
        }
        #expect(groups.count == 21)
        #expect(groups.count { $0.address == nil } == 11)
        #expect(groups.count { $0.origin == nil } == 1)
        #expect(table.isEmpty)
    }

    @Test("After any order of events nothing is left, and the gauges are 0", arguments: 0..<50)
    mutating func walk(seed: UInt64) {
        var random = SplitMix(state: seed)
        var sum = Change()
        for step in 0..<2000 {
            let descriptor = Int32.random(in: 3...8, using: &random)
            let transfer = UInt.random(in: 1...6, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: table.opening(descriptor, for: transfer, to: "10.0.0.1", 80, at: Int64(step))
            case 1, 2: send(transfer, from: 1000 + Int(descriptor))
            case 3: table.ended(transfer)
            case 4: table.waiting(transfer, for: descriptor)
            default: table.closed(descriptor, at: Int64(step))
            }
            let change = changes()
            sum.active += change.active
            sum.idle += change.idle
            sum.opened += change.opened
            sum.closed += change.closed
            #expect(sum.active >= 0 && sum.idle >= 0)
            #expect(sum.active + sum.idle == sum.opened - sum.closed)
        }
        table.closedAll(at: 2000)
        let end = changes()
        #expect(sum.active + end.active == 0 && sum.idle + end.idle == 0)
        #expect(table.isEmpty)
    }
}

/// A small random generator with a seed.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
