// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

@testable import TurnpikeCurl

@Suite("The turns of transfers to hosts that may speak HTTP/2")
struct HostTurnsTests {
    private func transfer(
        _ url: String = "https://a.example/", offersHTTP2: Bool = true
    ) throws -> CurlTransfer {
        let request = Request(.get, try #require(URL(string: url)))
        return CurlTransfer(
            request,
            wire: try CurlRequest(request, body: .empty, length: nil, decodes: false),
            upload: nil, offersHTTP2: offersHTTP2)
    }

    /// Transfers to one host that have asked for their turns.
    private func line(_ count: Int, in turns: inout HostTurns) throws -> [CurlTransfer] {
        try (0..<count).map { _ in
            let transfer = try transfer()
            turns.add(transfer)
            return transfer
        }
    }

    @Test("One begins, the others wait until it has its connection, and go on in order")
    func order() throws {
        var turns = HostTurns()
        let line = try line(4, in: &turns)
        #expect(line.map(\.turn) == [.taken, .awaited(0), .awaited(1), .awaited(2)])
        for (one, next) in zip(line, line.dropFirst()) {
            #expect(turns.connected(one, isHTTP2: true).map(\.sharedHost) == [next.sharedHost])
            #expect(one.turn == .none && next.turn == .taken)
        }
        #expect(turns.connected(line[3], isHTTP2: true).isEmpty)
    }

    @Test("Where HTTP/1 is spoken nobody waits any more")
    func oldHost() throws {
        var turns = HostTurns()
        let line = try line(4, in: &turns)
        #expect(turns.connected(line[0], isHTTP2: false).count == 3)
        #expect(line.allSatisfy { $0.turn == .none })
        let late = try transfer()
        turns.add(late)
        #expect(late.turn == .none)
        // Nothing is remembered of a host that has no transfers.
        for transfer in line + [late] { #expect(turns.remove(transfer).isEmpty) }
        turns.add(late)
        #expect(late.turn == .taken)
    }

    @Test("A turn that ends without a connection is the next one's")
    func passesOn() throws {
        var turns = HostTurns()
        let line = try line(3, in: &turns)
        #expect(turns.remove(line[0]).count == 1)
        #expect(line.map(\.turn) == [.unasked, .taken, .awaited(1)])
    }

    @Test("Who waits no longer is passed over")
    func passedOver() throws {
        var turns = HostTurns()
        let line = try line(4, in: &turns)
        #expect(turns.remove(line[1]).isEmpty && turns.remove(line[2]).isEmpty)
        #expect(turns.connected(line[0], isHTTP2: true).count == 1)
        #expect(line.map(\.turn) == [.none, .unasked, .unasked, .taken])
    }

    @Test("The end of one with a connection makes room for one more")
    func makesRoom() throws {
        var turns = HostTurns()
        let line = try line(5, in: &turns)
        _ = turns.connected(line[0], isHTTP2: true)
        #expect(turns.remove(line[0]).count == 1)
        #expect(line[1].turn == .taken && line[2].turn == .taken && line[3].turn.isAwaited)
    }

    @Test("What shares no connection takes no turn, and each host has its own")
    func apart() throws {
        var turns = HostTurns()
        let others = [
            try transfer("http://a.example/"), try transfer(offersHTTP2: false),
        ]
        for transfer in others {
            turns.add(transfer)
            #expect(transfer.turn == .none)
            #expect(turns.connected(transfer, isHTTP2: true).isEmpty)
            #expect(turns.remove(transfer).isEmpty)
        }
        for url in ["https://a.example/", "https://b.example/", "https://a.example:444/"] {
            let transfer = try transfer(url)
            turns.add(transfer)
            #expect(transfer.turn == .taken)
        }
    }
}
