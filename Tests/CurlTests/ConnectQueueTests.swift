// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

@testable import TurnpikeCurl

@Suite("The queue of transfers to a host that may speak HTTP/2")
struct ConnectQueueTests {
    private func transfer(
        _ url: String = "https://a.example/", offersHTTP2: Bool = true
    ) throws -> CurlTransfer {
        let request = Request(.get, try #require(URL(string: url)))
        return CurlTransfer(
            request,
            wire: try CurlRequest(request, body: .empty, length: nil, decodes: false),
            upload: nil, offersHTTP2: offersHTTP2)
    }

    /// Transfers to one host that have asked for their places.
    private func line(_ count: Int, in queue: inout ConnectQueue) throws -> [CurlTransfer] {
        try (0..<count).map { _ in
            let transfer = try transfer()
            queue.add(transfer)
            return transfer
        }
    }

    @Test("One begins, the others wait until it has its connection, and go on in order")
    func order() throws {
        var queue = ConnectQueue()
        let line = try line(4, in: &queue)
        #expect(line.map(\.position) == [.connecting, .waiting(0), .waiting(1), .waiting(2)])
        for (one, next) in zip(line, line.dropFirst()) {
            #expect(queue.connected(one, isHTTP2: true).map(\.sharedHost) == [next.sharedHost])
            #expect(one.position == .none && next.position == .connecting)
        }
        #expect(queue.connected(line[3], isHTTP2: true).isEmpty)
    }

    @Test("Where HTTP/1 is spoken nobody waits any more")
    func oldHost() throws {
        var queue = ConnectQueue()
        let line = try line(4, in: &queue)
        #expect(queue.connected(line[0], isHTTP2: false).count == 3)
        #expect(line.allSatisfy { $0.position == .none })
        let late = try transfer()
        queue.add(late)
        #expect(late.position == .none)
        // Nothing is remembered of a host that has no transfers.
        for transfer in line + [late] { #expect(queue.remove(transfer).isEmpty) }
        queue.add(late)
        #expect(late.position == .connecting)
    }

    @Test("Where one ends without a connection the next one begins")
    func passesOn() throws {
        var queue = ConnectQueue()
        let line = try line(3, in: &queue)
        #expect(queue.remove(line[0]).count == 1)
        #expect(line.map(\.position) == [.unasked, .connecting, .waiting(1)])
    }

    @Test("Who waits no longer is passed over")
    func passedOver() throws {
        var queue = ConnectQueue()
        let line = try line(4, in: &queue)
        #expect(queue.remove(line[1]).isEmpty && queue.remove(line[2]).isEmpty)
        #expect(queue.connected(line[0], isHTTP2: true).count == 1)
        #expect(line.map(\.position) == [.none, .unasked, .unasked, .connecting])
    }

    @Test("The end of one with a connection makes room for one more")
    func makesRoom() throws {
        var queue = ConnectQueue()
        let line = try line(5, in: &queue)
        _ = queue.connected(line[0], isHTTP2: true)
        #expect(queue.remove(line[0]).count == 1)
        #expect(
            line[1].position == .connecting && line[2].position == .connecting
                && line[3].position.isWaiting)
    }

    @Test("To a host that speaks HTTP/1, as many begin as it may have connections")
    func limit() throws {
        var queue = ConnectQueue(limit: 2)
        let plain = try (0..<5).map { others in
            let transfer = try transfer("http://a.example/")
            queue.add(transfer, besides: others)
            return transfer
        }
        // The first two are not counted.
        #expect(plain.map(\.position) == [.unasked, .unasked, .none, .none, .waiting(0)])
        #expect(queue.remove(plain[0]).isEmpty)
        #expect(queue.remove(plain[2]).map(ObjectIdentifier.init) == [ObjectIdentifier(plain[4])])
        #expect(plain[4].position == .none)
        let line = try line(4, in: &queue)
        #expect(queue.connected(line[0], isHTTP2: false).count == 1)
        #expect(line.map(\.position) == [.none, .none, .waiting(1), .waiting(2)])
        #expect(queue.remove(line[3]).isEmpty && queue.remove(line[1]).count == 1)
        #expect(line.map(\.position) == [.none, .unasked, .none, .unasked])
    }

    @Test("What shares no connection does not queue, and each host has its own")
    func apart() throws {
        var queue = ConnectQueue()
        let others = [
            try transfer("http://a.example/"), try transfer(offersHTTP2: false),
        ]
        for transfer in others {
            queue.add(transfer)
            #expect(!transfer.position.isWaiting)
            #expect(queue.connected(transfer, isHTTP2: true).isEmpty)
            #expect(queue.remove(transfer).isEmpty)
        }
        for url in ["https://a.example/", "https://b.example/", "https://a.example:444/"] {
            let transfer = try transfer(url)
            queue.add(transfer)
            #expect(transfer.position == .connecting)
        }
    }
}
