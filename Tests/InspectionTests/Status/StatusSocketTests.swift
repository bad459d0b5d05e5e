// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeInspection

@Suite("StatusSocket", .timeLimit(.minutes(2)))
struct StatusSocketTests {
    private let folder = TemporaryFolder()
    private var path: String { folder["s"] }

    private func client(_ gates: any Gate...) -> Client {
        Client(MockTransport { _ in .ok() }, clock: ManualClock(), Stack(gates))
    }

    private func connected() throws -> UnixSocket {
        let peer = try UnixSocket(path)
        #expect(unsafe peer.call(connect))
        return peer
    }

    // What a process leaves behind that was killed.
    private func leaveStale() throws {
        let server = try UnixSocket(path)
        #expect(unsafe server.call(bind))
        #expect(listen(server.descriptor, 1) == 0)
    }

    @Test("Its user alone may connect, and reads the state of each client, again and again")
    func reads() throws {
        let gate = ClientStatusTests.Telling(lines: [LiveFigure("line", "7", isTrouble: true)])
        let clients = [client(), client(gate)]
        let socket = try StatusSocket(
            at: path, of: clients, patience: timeval(tv_sec: 9, tv_usec: 0))
        #expect(try folder.mode("s") == 0o600)
        for _ in 0..<3 {
            #expect(try [ClientStatus](socket: path) == clients.map { ClientStatus(of: $0) })
        }
        socket.close()
        #expect(folder.names == [])
        socket.close()
        #expect(throws: FileFault.self) { try [ClientStatus](socket: path) }
    }

    @Test("A peer that never reads, and one that hangs up, do not keep others from reading")
    func peers() throws {
        // More than the system holds for a peer.
        let lines = (0..<40).map { LiveFigure("\($0)", String(repeating: "x", count: 400)) }
        let client = Client(
            MockTransport { _ in .ok() }, clock: ManualClock(),
            Stack((0..<60).map { _ in ClientStatusTests.Telling(lines: lines) }))
        let socket = try StatusSocket(
            at: path, of: [client], patience: timeval(tv_sec: 0, tv_usec: 20_000))
        let silent = [try connected(), try connected()]
        _ = try connected()
        #expect(try [ClientStatus](socket: path).first?.parts.count == 62)
        withExtendedLifetime(silent) { socket.close() }
    }

    @Test("Closing a socket again does not remove a later one, even if it has the same inode")
    func closedTwice() throws {
        let first = try StatusSocket(at: path, of: client())
        first.close()
        let second = try StatusSocket(at: path, of: client())
        first.close()
        #expect(try [ClientStatus](socket: path).count == 1)
        second.close()
        #expect(folder.names == [])
    }

    @Test("What a dead process has left is replaced; a socket in use is not, nor another's file")
    func places() throws {
        try leaveStale()
        #expect(throws: FileFault.self) { try [ClientStatus](socket: path) }
        let socket = try StatusSocket(at: path, of: client())
        #expect(throws: FileFault.self) { try StatusSocket(at: path, of: client()) }
        #expect(try [ClientStatus](socket: path).count == 1)
        socket.close()

        try folder.write("kept", to: "s")
        #expect(throws: FileFault.self) { try StatusSocket(at: path, of: client()) }
        #expect(folder.contents(of: "s") == Data("kept".utf8))
        try folder.link("l", to: path)
        #expect(throws: FileFault.self) { try StatusSocket(at: folder["l"], of: client()) }
        #expect(folder.isLink("l"))
        try folder.makeFolder("open")
        try folder.setMode(0o777, of: "open")
        #expect(throws: FileFault.self) { try StatusSocket(at: folder["open/s"], of: client()) }
        let long = folder[String(repeating: "x", count: 200)]
        #expect(throws: FileFault.self) { try StatusSocket(at: long, of: client()) }
        if geteuid() == 0 {
            try FileManager.default.removeItem(atPath: path)
            try leaveStale()
            try folder.give("s", to: 4711)
            #expect(throws: FileFault.self) { try StatusSocket(at: path, of: client()) }
            #expect(folder.names.contains("s"))
        }
    }

    @Test("One that was replaced leaves its successor where it is")
    func successor() throws {
        let first = try StatusSocket(at: path, of: client())
        try FileManager.default.removeItem(atPath: path)
        let second = try StatusSocket(at: path, of: client())
        first.close()
        #expect(try [ClientStatus](socket: path).count == 1)
        second.close()
    }

    @Test("It is closed with its last owner")
    func released() throws {
        do { _ = try StatusSocket(at: path, of: client()) }
        #expect(folder.names == [])
    }
}
