// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeCore
import TurnpikeSerializers
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeWebSocket

@Suite("A WebSocket", .timeLimit(.minutes(2)))
struct WebSocketTests {
    /// What the server does wrong, and how the socket closes.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let frames: Data
        let code: UInt16
        var isDeflated = false
        var maxMessageBytes = 1000

        init(_ name: String, _ frames: [RawFrame], _ code: UInt16, isDeflated: Bool = false) {
            testDescription = name
            self.frames = frames.reduce(Data()) { $0 + $1.bytes }
            self.code = code
            self.isDeflated = isDeflated
        }

        // The reader gets what was inflated of it, and no message.
        static func bomb(_ name: String, of bytes: Int, maxMessageBytes: Int) -> Fault {
            let content = try? MessageDeflater(DeflateAgreement()).deflate(
                Data(count: bytes), isLast: true)
            var fault = Fault(name, [RawFrame(0xC2, content ?? Data())], 1009, isDeflated: true)
            fault.maxMessageBytes = maxMessageBytes
            return fault
        }

        init(_ name: String, bytes: [UInt8], _ code: UInt16) {
            testDescription = name
            frames = Data(bytes)
            self.code = code
        }
    }

    private static let faults = [
        Fault("a masked frame", bytes: [0x81, 0x81, 1, 2, 3, 4, 5], 1002),
        Fault("a reserved bit", [RawFrame(0x91, "a")], 1002),
        Fault("a reserved opcode", [RawFrame(0x83, "a")], 1002),
        Fault("2^63 bytes", bytes: [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002),
        Fault("a ping of 126 bytes", [RawFrame(0x89, Data(count: 126))], 1002),
        Fault("fragments that never end", bytes: [1, 0] + Array(repeating: 0, count: 4000), 1009),
        Fault("a message over the limit", [RawFrame(0x82, Data(count: 1001))], 1009),
        Fault("text that is no UTF-8", [RawFrame(0x81, Data([0x61, 0xFF]))], 1007),
        Fault(
            "text that is no UTF-8, in a fragment",
            [RawFrame(0x01, Data([0xC3])), RawFrame(0x00, "a")],
            1007),
        Fault("text that ends within a character", [RawFrame(0x81, Data([0xC3]))], 1007),
        Fault("close code 1005", [.close(1005)], 1002),
        Fault("broken compression", [RawFrame(0xC1, Data([0xFF, 0xFF]))], 1007, isDeflated: true),
        .bomb("a bomb", of: 100_000, maxMessageBytes: 1000),
        .bomb("a bomb within the largest message", of: 10_000_000, maxMessageBytes: 16_777_216),
    ]

    @Test(
        "A server that breaks the rules gets the right code, and the reader one error and nothing more",
        arguments: faults)
    func violations(fault: Fault) async throws {
        let (socket, peer, pipe) = openSocket(
            WebSocket.Options(maxMessageBytes: fault.maxMessageBytes),
            deflate: fault.isDeflated ? DeflateAgreement() : nil)
        try await peer.send(RawFrame(0x81, "before"))
        try await peer.channel.write(fault.frames + RawFrame(0x81, "after").bytes)
        var received: [WebSocket.Message] = []
        let error = await #expect(throws: ClientError.self) {
            for try await message in socket.messages { received.append(message) }
        }
        #expect(error?.code == (fault.code == 1009 ? .tooLarge : .protocol))
        #expect(received == [.text("before")])
        let answer = try await peer.next()
        #expect(answer == .close(fault.code))
        peer.channel.close()
        await expectError(.webSocketClosed) {
            try await socket.send(.text("x"))
        }
        #expect(pipe.isClosed)
    }

    @Test("Messages of both kinds go both ways, whole and in fragments")
    func messages() async throws {
        let (socket, peer, _) = openSocket()
        try await socket.send(.text("héllo"))
        try await socket.send(.binary(Data([1, 2])))
        try await socket.send(json: ["a": 1])
        try await socket.send(text: stream(["a", "b"]))
        try await socket.send(binary: stream([Data]()))
        var frames: [RawFrame] = []
        for _ in 0..<7 { frames.append(try #require(try await peer.next())) }
        #expect(
            frames == [
                RawFrame(0x81, "héllo"), RawFrame(0x82, Data([1, 2])), RawFrame(0x81, "{\"a\":1}"),
                RawFrame(0x01, "a"), RawFrame(0x00, "b"), RawFrame(0x80), RawFrame(0x82),
            ])
        try await peer.send(
            RawFrame(0x01, Data([0xC3])), RawFrame(0x89, "now"), RawFrame(0x80, Data([0xA9])),
            RawFrame(0x82), RawFrame(0x02, "x"), RawFrame(0x80, "y"))
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("é"))
        #expect(try await messages.next() == .binary(Data()))
        #expect(try await peer.next() == RawFrame(0x8A, "now"))
        var fragments = socket.fragments.makeAsyncIterator()
        let first = try await fragments.next()
        #expect(first == .init(content: Data("x".utf8), isText: false, isLast: false))
        #expect(try await fragments.next()?.isLast == true)
    }

    @Test("Compressed messages go both ways, and in fragments")
    func compressed() async throws {
        let agreement = DeflateAgreement()
        let (socket, peer, _) = openSocket(
            WebSocket.Options(compression: .both), deflate: agreement)
        let text = String(repeating: "abcdefgh", count: 1000)
        try await socket.send(.text(text))
        try await socket.send(text: stream(["a", "b"]))
        let frame = try #require(try await peer.next())
        #expect(frame.first == 0xC1 && frame.content.count < 200)
        let firsts = [
            try await peer.next()?.first, try await peer.next()?.first,
            try await peer.next()?.first,
        ]
        #expect(firsts == [0x41, 0x00, 0x80])
        let deflater = MessageDeflater(agreement)
        let one = try deflater.deflate(Data(text.utf8), isLast: true)
        let other = try deflater.deflate(Data(text.utf8), isLast: true)
        #expect(other.count < one.count)
        try await peer.send(
            RawFrame(0x41, one.prefix(5)), RawFrame(0x80, one.dropFirst(5)), RawFrame(0xC1, other),
            RawFrame(0x81, "plain"))
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text(text))
        #expect(try await messages.next() == .text(text))
        #expect(try await messages.next() == .text("plain"))
    }

    @Test("The client closes: the server answers and ends the connection, and the sequence ends")
    func closing() async throws {
        let (socket, peer, pipe) = openSocket()
        async let closed: Void = socket.close(.goingAway, reason: "bye")
        #expect(try await peer.next() == .close(1001, "bye"))
        // What the server sent before it knew is delivered, and nothing behind its answer.
        try await peer.send(RawFrame(0x81, "late"), .close(1001), RawFrame(0x81, "too late"))
        peer.channel.close()
        try await closed
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("late"))
        #expect(try await messages.next() == nil)
        #expect(socket.closure == nil || socket.closure?.code == .goingAway)
        #expect(pipe.isClosed)
        try await socket.close()
    }

    @Test("Messages that nobody reads do not hold up a closing: those that do not fit are dropped")
    func closingUnread() async throws {
        let (socket, peer, _) = openSocket()
        async let closed: Void = socket.close()
        #expect(try await peer.next() == .close(1000))
        let large = Data(count: 40_000)
        try await peer.send(
            RawFrame(0x82, large), RawFrame(0x82, large), RawFrame(0x82, "small"), .close(1000))
        peer.channel.close()
        try await closed
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .binary(large))
        // Of the second one a part was dropped, and so all behind it.
        #expect(try await messages.next() == nil)
    }

    @Test(
        "Messages become values by the client's decoder, and a wrong one is an error that shows it")
    func values() async throws {
        struct Price: Codable, Equatable { let pair: String }
        let (socket, peer, _) = openSocket(serializers: .standard)
        try await socket.send(json: Price(pair: "EURUSD"))
        let frame = try #require(try await peer.next())
        try await peer.send(
            RawFrame(frame.first, frame.content), RawFrame(0x82, frame.content),
            RawFrame(0x81, "[1]"), RawFrame(0x81, "after"))
        var prices = socket.messages(of: Price.self).makeAsyncIterator()
        #expect(try await prices.next() == Price(pair: "EURUSD"))
        #expect(try await prices.next() == Price(pair: "EURUSD"))
        do {
            _ = try await prices.next()
            Issue.record("an array is no price")
        } catch let error as ClientError {
            #expect(error.code == .serialization && error.responseBody == Data("[1]".utf8))
        }
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("after"))
        let (bare, other, _) = openSocket()
        try await other.send(RawFrame(0x81, "{}"))
        await expectError(.serialization) {
            var prices = bare.messages(of: Price.self).makeAsyncIterator()
            _ = try await prices.next()
        }
    }

    @Test(
        "The server closes: its code is echoed, and only 1000 and no code end without an error",
        arguments: [
            (RawFrame.close(1000, "done"), nil), (RawFrame(0x88), nil),
            (RawFrame.close(1011), ClientError.Code.connection),
            (RawFrame.close(4001, "no"), ClientError.Code.webSocketClosed),
        ] as [(RawFrame, ClientError.Code?)])
    func closedByServer(frame: RawFrame, code: ClientError.Code?) async throws {
        let (socket, peer, _) = openSocket()
        try await peer.send(RawFrame(0x81, "last"), frame, RawFrame(0x81, "after"))
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("last"))
        do {
            #expect(try await messages.next() == nil && code == nil)
        } catch let error as ClientError {
            #expect(error.code == code)
            #expect(error.attachment as? WebSocket.Closure == socket.closure)
        }
        #expect(try await peer.next() == RawFrame(0x88, frame.content.prefix(2)))
        #expect(
            socket.closure?.reason == String(decoding: frame.content.dropFirst(2), as: UTF8.self))
        peer.channel.close()
        try await socket.close()
    }

    @Test("A server that does not answer a close is waited for up to the limit")
    func closeLimit() async throws {
        let clock = ManualClock()
        let (socket, peer, pipe) = openSocket(timeSource: clock)
        async let closed: Void = socket.close()
        #expect(try await peer.next() == .close(1000))
        try await clock.waitForTimer(in: .seconds(5))
        #expect(!pipe.isClosed)
        clock.advance(by: .seconds(5))
        try await closed
        #expect(pipe.isClosed && clock.timerCount == 0)
    }

    @Test("A connection that ends without a close is an error, also within a message")
    func lost() async throws {
        for isWithin in [false, true] {
            let (socket, peer, _) = openSocket()
            if isWithin { try await peer.send(RawFrame(0x01, "half")) }
            peer.channel.close()
            await expectError(.connection) {
                for try await message in socket.messages { Issue.record("\(message)") }
            }
        }
    }

    @Test("A socket that nobody has any more closes its connection")
    func released() async throws {
        var opened: (socket: WebSocket, peer: Peer, pipe: Pipe)? = openSocket()
        let (peer, pipe) = (try #require(opened).peer, try #require(opened).pipe)
        opened = nil
        #expect(try await peer.next() == nil)
        #expect(pipe.isClosed)
    }

    @Test("A slow reader stops the server, and loses nothing")
    func slowReader() async throws {
        let (socket, peer, pipe) = openSocket(highWater: 0)
        let isSent = Mutex(false)
        async let sending: Void = {
            for index in 0..<300 {
                try await peer.send(
                    RawFrame(0x82, Data(repeating: UInt8(index & 0xFF), count: 1000)))
            }
            isSent.withLock { $0 = true }
        }()
        try await until("the inbox is full") { socket.core.inbox.isHolding }
        try await until("the server waits") { pipe.unread > 0 }
        #expect(!isSent.withLock { $0 })
        var messages = socket.messages.makeAsyncIterator()
        for index in 0..<300 {
            #expect(
                try await messages.next()
                    == .binary(Data(repeating: UInt8(index & 0xFF), count: 1000)))
        }
        try await sending
    }

    @Test("A slow server stops who sends; messages of many tasks stay whole")
    func manySenders() async throws {
        let (socket, peer, _) = openSocket(highWater: 1000)
        try await withThrowingTaskGroup { group in
            for sender in 0..<20 {
                group.addTask {
                    for index in 0..<10 {
                        try await socket.send(text: stream(["\(sender)", " ", "\(index)"]))
                    }
                }
            }
            var next = [Int](repeating: 0, count: 20)
            for _ in 0..<200 {
                var frames: [RawFrame] = []
                repeat {
                    frames.append(try #require(try await peer.next()))
                } while frames.last?.first != 0x80
                #expect(frames.map(\.first) == [0x01, 0x00, 0x00, 0x80])
                let text = String(
                    decoding: frames.reduce(Data()) { $0 + $1.content }, as: UTF8.self)
                let numbers = text.split(separator: " ").compactMap { Int($0) }
                try #require(numbers.count == 2)
                #expect(next[numbers[0]] == numbers[1])
                next[numbers[0]] += 1
            }
            try await group.waitForAll()
        }
    }

    @Test("A ping is answered between the fragments of a message that is being sent")
    func pongBetween() async throws {
        let (socket, peer, _) = openSocket()
        let (fragments, continuation) = AsyncStream.makeStream(of: String.self)
        async let sending: Void = socket.send(text: fragments)
        continuation.yield("a")
        #expect(try await peer.next() == RawFrame(0x01, "a"))
        try await peer.send(RawFrame(0x89, "?"))
        #expect(try await peer.next() == RawFrame(0x8A, "?"))
        continuation.finish()
        #expect(try await peer.next() == RawFrame(0x80))
        try await sending
    }

    @Test("A message whose fragments fail closes the socket with 1011")
    func failingFragments() async throws {
        let (socket, peer, _) = openSocket()
        let fragments = AsyncThrowingStream<String, any Error> { continuation in
            continuation.yield("a")
            continuation.finish(throwing: ClientError(.upload, "no more"))
        }
        await expectError(.upload) { try await socket.send(text: fragments) }
        #expect(try await peer.next() == RawFrame(0x01, "a"))
        #expect(try await peer.next() == .close(1011))
    }

    @Test("The end of a socket ends senders that wait for a message without an end")
    func endlessMessage() async throws {
        let (socket, peer, _) = openSocket()
        let (fragments, continuation) = AsyncStream.makeStream(of: String.self)
        let endless = Task { try await socket.send(text: fragments) }
        continuation.yield("a")
        #expect(try await peer.next() == RawFrame(0x01, "a"))
        let ended = Log()
        for _ in 0..<3 {
            Task {
                await expectError(.webSocketClosed) { try await socket.send(.text("b")) }
                ended.add("ended")
            }
        }
        peer.channel.close()
        try await until("the senders end") { ended.lines.count == 3 }
        continuation.yield("c")
        await expectError(.webSocketClosed) { try await endless.value }
    }

    @Test("Pings keep a socket alive, and a missing pong ends it")
    func keepAlive() async throws {
        let clock = ManualClock()
        let (socket, peer, pipe) = openSocket(
            WebSocket.Options(keepAlive: .seconds(30)), timeSource: clock)
        clock.advance(by: .seconds(30))
        #expect(try await peer.next() == RawFrame(0x89, "1"))
        try await peer.send(RawFrame(0x8A, "0"), RawFrame(0x8A, "1"))
        try await clock.waitForTimer(in: .seconds(30))
        clock.advance(by: .seconds(30))
        #expect(try await peer.next() == RawFrame(0x89, "2"))
        try await clock.waitForTimer(in: .seconds(10))
        clock.advance(by: .seconds(10))
        await expectError(.idleTimeout) {
            for try await message in socket.messages { Issue.record("\(message)") }
        }
        #expect(pipe.isClosed && clock.timerCount == 0)
    }

    @Test("A slow reader, or bytes of a long frame, do not end a socket before its pong")
    func latePong() async throws {
        let clock = ManualClock()
        let options = WebSocket.Options(keepAlive: .seconds(30))
        let (slow, server, _) = openSocket(options, timeSource: clock)
        let message = RawFrame(0x82, Data(count: 1000))
        let sending = Task { for _ in 0..<300 { try await server.send(message) } }
        try await until("the inbox is full") { slow.core.inbox.isHolding }
        clock.advance(by: .seconds(30))
        #expect(try await server.next() == RawFrame(0x89, "1"))
        var messages = slow.messages.makeAsyncIterator()
        _ = try await messages.next()
        clock.advance(by: .seconds(10))
        #expect(slow.core.isOpen)
        for _ in 1..<300 { _ = try await messages.next() }
        try await sending.value
        try await server.send(RawFrame(0x8A, "1"))

        let (other, peer, _) = openSocket(options, timeSource: clock)
        try await peer.channel.write(Data([0x82, 100]))
        clock.advance(by: .seconds(30))
        #expect(try await peer.next() == RawFrame(0x89, "1"))
        try await peer.channel.write(Data([1]))
        try await until("the byte was read") { other.core.state.withLock { $0.hasRead } }
        clock.advance(by: .seconds(10))
        #expect(other.core.isOpen)
        clock.advance(by: .seconds(10))
        await expectError(.idleTimeout) { for try await _ in other.messages {} }
    }

    @Test("A cancellation during the first fragment closes the socket")
    func cancelledFragment() async throws {
        let (socket, peer, pipe) = openSocket(highWater: 0)
        let fragments = AsyncStream.makeStream(of: Data.self)
        fragments.continuation.yield(Data("a".utf8))
        let sending = Task { try await socket.send(binary: fragments.stream) }
        try await until("the fragment waits") { pipe.arrived.waits }
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(try await peer.next() == RawFrame(0x02, "a"))
        #expect(try await peer.next()?.first == 0x88)
        await expectError(.webSocketClosed) { try await socket.send(.text("b")) }
    }

    @Test("A cancelled sender leaves the line of senders")
    func leavingTheLine() async throws {
        let turn = Turn()
        try await turn.run {
            let waiting = (0..<100).map { _ in Task { try await turn.run {} } }
            try await until("all wait") { turn.waiterCount == 100 }
            for task in waiting { task.cancel() }
            for task in waiting { _ = await task.result }
            #expect(turn.waiterCount == 0)
        }
    }

    @Test("A reader that gives up waiting leaves the socket open; two readers are refused")
    func readers() async throws {
        let (socket, peer, _) = openSocket()
        let waiting = Task {
            var messages = socket.messages.makeAsyncIterator()
            return try await messages.next()
        }
        try await until("a reader waits") { socket.core.inbox.hasReader }
        await expectError(.unsupported) {
            var others = socket.messages.makeAsyncIterator()
            _ = try await others.next()
        }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await peer.send(RawFrame(0x81, "here"))
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("here"))
    }

    @Test("A reader that gives up within a message leaves the whole message to the next reader")
    func readerWithinMessage() async throws {
        let (socket, peer, _) = openSocket()
        try await peer.send(RawFrame(0x01, "who"), RawFrame(0x89))
        #expect(try await peer.next() == RawFrame(0x8A))
        let waiting = Task {
            var messages = socket.messages.makeAsyncIterator()
            return try await messages.next()
        }
        try await until("a reader waits") { socket.core.inbox.hasReader }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await peer.send(RawFrame(0x80, "le"), RawFrame(0x81, "next"))
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("whole"))
        #expect(try await messages.next() == .text("next"))
    }

    @Test("The messages of senders that give up do not pile up for a server that reads nothing")
    func cancelledSenders() async throws {
        let (socket, peer, pipe) = openSocket(highWater: 0)
        func send(_ text: String) -> Task<Void, any Error> {
            Task { try await socket.send(.text(text)) }
        }
        let first = send("first")
        try await until("the first message waits") { pipe.arrived.waits }
        let bytes = pipe.arrived.bytes
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        let second = send("second")
        try await until("the second message waits") { pipe.arrived.waits }
        #expect(pipe.arrived.bytes == bytes)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        async let third: Void = socket.send(.text("third"))
        #expect(try await peer.next() == RawFrame(0x81, "first"))
        #expect(try await peer.next() == RawFrame(0x81, "third"))
        try await third
    }

    @Test("Pings of a server that reads no pongs take no memory, and messages still arrive")
    func pingFlood() async throws {
        let (socket, peer, pipe) = openSocket(highWater: 0)
        let ping = RawFrame(0x89, Data(count: 125)).bytes
        for _ in 0..<50 {
            try await peer.channel.write((0..<100).reduce(Data()) { bytes, _ in bytes + ping })
        }
        try await peer.send(RawFrame(0x81, "after"))
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("after"))
        #expect(pipe.arrived.bytes > 0 && pipe.arrived.bytes <= 64 * (6 + 125))
    }
}

/// The elements as an asynchronous sequence.
func stream<Element: Sendable>(_ elements: [Element]) -> AsyncStream<Element> {
    AsyncStream { continuation in
        for element in elements { continuation.yield(element) }
        continuation.finish()
    }
}
