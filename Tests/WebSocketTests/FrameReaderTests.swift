// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore

@testable import TurnpikeWebSocket

@Suite("Frames of a WebSocket")
struct FrameReaderTests {
    typealias Event = FrameReader.Event

    struct Good: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: Data
        let events: [Event]

        init(_ name: String, _ bytes: [RawFrame], _ events: [Event]) {
            testDescription = name
            self.bytes = bytes.reduce(Data()) { $0 + $1.bytes }
            self.events = events
        }
    }

    struct Bad: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: Data
        let code: WebSocket.CloseCode

        init(_ name: String, _ bytes: [UInt8], _ code: WebSocket.CloseCode = .protocolError) {
            testDescription = name
            self.bytes = Data(bytes)
            self.code = code
        }
    }

    private static func text(_ text: String, isLast: Bool = true) -> Event {
        .content(
            Data(text.utf8), FrameReader.Message(isText: true, isCompressed: false), isLast: isLast)
    }

    private static func binary(_ count: Int) -> Event {
        .content(
            Data(count: count), FrameReader.Message(isText: false, isCompressed: false),
            isLast: true
        )
    }

    private static let good = [
        Good("a text", [RawFrame(0x81, "Hello")], [text("Hello")]),
        Good("an empty text", [RawFrame(0x81)], [text("")]),
        Good("125 bytes", [RawFrame(0x82, Data(count: 125))], [binary(125)]),
        Good("126 bytes", [RawFrame(0x82, Data(count: 126))], [binary(126)]),
        Good("65535 bytes", [RawFrame(0x82, Data(count: 65_535))], [binary(65_535)]),
        Good("65536 bytes", [RawFrame(0x82, Data(count: 65_536))], [binary(65_536)]),
        Good(
            "fragments with a ping between",
            [RawFrame(0x01, "Hel"), RawFrame(0x89, "?"), RawFrame(0x00), RawFrame(0x80, "lo")],
            [text("Hel", isLast: false), .ping(Data("?".utf8)), text("lo")]),
        Good(
            "an empty last fragment", [RawFrame(0x01, "a"), RawFrame(0x80)],
            [text("a", isLast: false), text("")]),
        Good("a pong", [RawFrame(0x8A)], [.pong(Data())]),
        Good("a ping of 125 bytes", [RawFrame(0x89, Data(count: 125))], [.ping(Data(count: 125))]),
        Good("a close", [.close(1000, "bye")], [.close(.normal, reason: "bye")]),
        Good("a close without a code", [RawFrame(0x88)], [.close(nil, reason: "")]),
        Good(
            "a close code of an application", [.close(4999)],
            [.close(.init(rawValue: 4999), reason: "")]),
    ]

    private static let bad = [
        Bad("reserved bit 1", [0xC1]), Bad("reserved bit 2", [0xA1]), Bad("reserved bit 3", [0x91]),
        Bad("a reserved bit in a control frame", [0xC9]),
        Bad("reserved opcode 3", [0x83]), Bad("reserved opcode 11", [0x8B]),
        Bad("a mask", [0x81, 0x80]),
        Bad("a control frame of 126 bytes", [0x89, 126]),
        Bad("a control frame of 65536 bytes", [0x88, 127]),
        Bad("a control frame in fragments", [0x09]),
        Bad("a fragment without a beginning", [0x80]),
        Bad("a message within a message", [0x01, 1, 0x61, 0x81]),
        Bad("a long form of 125", [0x82, 126, 0, 125]),
        Bad("a very long form of 65535", [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]),
        Bad("a length of 2^63", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        Bad(
            "a length of 2^63 - 1", [0x82, 127, 0x7F] + Array(repeating: 0xFF, count: 7),
            .messageTooBig),
        Bad("more than the limit", [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 1], .messageTooBig),
        Bad(
            "more than the limit in two fragments",
            [0x02, 1, 0, 0x80, 127, 0, 0, 0, 0, 0, 1, 0, 0], .messageTooBig),
        Bad(
            "empty fragments that never end",
            [0x02, 0] + Array(repeatElement([0x00, 0], count: 65_536).joined()), .messageTooBig),
        Bad("a close code of one byte", [0x88, 1, 3]),
        Bad("close code 999", [0x88, 2, 0x03, 0xE7]),
        Bad("close code 1004", [0x88, 2, 0x03, 0xEC]),
        Bad("close code 1005", [0x88, 2, 0x03, 0xED]),
        Bad("close code 1006", [0x88, 2, 0x03, 0xEE]),
        Bad("close code 1015", [0x88, 2, 0x03, 0xF7]),
        Bad("close code 2999", [0x88, 2, 0x0B, 0xB7]),
        Bad("close code 5000", [0x88, 2, 0x13, 0x88]),
        Bad("a close reason that is no UTF-8", [0x88, 3, 0x03, 0xE8, 0xFF], .invalidContent),
    ]

    /// Reads bytes in pieces of a size, and joins content that was cut by that alone.
    private func read(
        _ bytes: Data, piece: Int, limit: Int = 65_536, mayBeCompressed: Bool = false
    ) -> (events: [Event], violation: Violation?) {
        var reader = FrameReader(maxMessageBytes: limit, mayBeCompressed: mayBeCompressed)
        var events: [Event] = []
        var rest = bytes
        do {
            while !rest.isEmpty {
                reader.add(Data(rest.prefix(piece)))
                rest = rest.dropFirst(piece)
                while let event = try reader.next() { events.append(event) }
            }
        } catch {
            return (events, error)
        }
        return (events, nil)
    }

    private func joined(_ events: [Event]) -> [Event] {
        events.reduce(into: []) { result, event in
            if case .content(let content, let message, let isLast) = event,
                case .content(let before, _, false)? = result.last
            {
                result[result.count - 1] = .content(before + content, message, isLast: isLast)
            } else {
                result.append(event)
            }
        }
    }

    @Test("Frames are read, however their bytes are cut", arguments: good)
    func goodFrames(example: Good) {
        for piece in [Int.max, 1, 3] {
            let (events, violation) = read(example.bytes, piece: piece)
            #expect(joined(events) == joined(example.events) && violation == nil)
        }
        #expect(read(example.bytes, piece: .max).events == example.events)
    }

    @Test(
        "What no server may send is refused with its code, before more is waited for",
        arguments: bad)
    func badFrames(example: Bad) {
        for piece in [Int.max, 1] {
            let violation = read(example.bytes, piece: piece).violation
            #expect(violation?.code == example.code)
        }
        // Not a byte earlier.
        #expect(read(example.bytes.dropLast(), piece: 1).violation == nil)
    }

    @Test(
        "The first bit stands for compression on the first frame of a message, if it was agreed on")
    func compressionBit() {
        let frames = [RawFrame(0x41, "a"), RawFrame(0x80, "b"), RawFrame(0x81, "c")]
        let bytes = frames.reduce(Data()) { $0 + $1.bytes }
        let events = read(bytes, piece: .max, mayBeCompressed: true).events
        let areCompressed = events.map { event in
            if case .content(_, let message, _) = event { return message.isCompressed }
            return false
        }
        #expect(areCompressed == [true, true, false])
        for first in [0xC0, 0xC9] as [UInt8] {
            let bytes = RawFrame(0x41, "a").bytes + [first]
            #expect(
                read(bytes, piece: .max, mayBeCompressed: true).violation?.code == .protocolError)
        }
    }

    @Test("A client's frame is masked, and its length takes the fewest bytes")
    func writing() async throws {
        for count in [0, 1, 7, 8, 9, 125, 126, 65_535, 65_536] {
            let content = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            let (near, far) = Pipe.pair(highWater: .max)
            let peer = Peer(UpgradedConnection(far, protocolName: "websocket"))
            let frame = FrameWriter.frame(.binary, content)
            try await near.write(frame)
            #expect(try await peer.next() == RawFrame(0x82, content))
            #expect(frame.count == count + 4 + (count < 126 ? 2 : count < 65_536 ? 4 : 10))
        }
        let masks = Set((0..<20).map { _ in FrameWriter.frame(.ping, Data())[2...] })
        #expect(masks.count > 15)
    }

    @Test("The reason of a close is cut at a character, after 123 bytes")
    func longReason() async throws {
        let (near, far) = Pipe.pair()
        let peer = Peer(UpgradedConnection(far, protocolName: "websocket"))
        try await near.write(
            FrameWriter.close(.normal, reason: "a" + String(repeating: "é", count: 100)))
        let frame = try #require(try await peer.next())
        #expect(frame == .close(1000, "a" + String(repeating: "é", count: 61)))
        #expect(frame.content.count == 125)
    }

    @Test("Pieces of text are checked like the whole text, wherever they are cut")
    func utf8() {
        var generator = SeededGenerator(seed: 4)
        let samples: [[UInt8]] = [
            Array("aß€😀\u{10FFFF}".utf8), [0xC0, 0x80], [0xED, 0xA0, 0x80],
            [0xF4, 0x90, 0x80, 0x80],
            [0xE0, 0x9F, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0x80], [0xF5],
        ]
        for index in 0..<3000 {
            var bytes = samples[index % samples.count]
            if index >= samples.count {
                for _ in 0..<Int(generator.next() % 3) {
                    bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(
                        truncatingIfNeeded: generator.next())
                }
            }
            let isValid = String(validating: bytes, as: UTF8.self) != nil
            var check = UTF8Check()
            let cut = Int(generator.next() % UInt64(bytes.count))
            let isGood = check.add(Data(bytes[..<cut])) && check.add(Data(bytes[cut...]))
            #expect((isGood && check.isComplete) == isValid, "\(bytes)")
        }
    }

    @Test("Mutated streams end in an event or a violation, the same however they are cut")
    func mutations() {
        let frames = Self.good.filter { $0.bytes.count < 300 }.map(\.bytes)
        for seed in 0..<Runs.size(4000, all: 200_000) {
            var generator = SeededGenerator(seed: UInt64(seed))
            var bytes = Data()
            for _ in 0..<(1 + generator.next() % 4) {
                bytes += frames[Int(generator.next() % UInt64(frames.count))]
            }
            for _ in 0..<(generator.next() % 4) {
                bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(
                    truncatingIfNeeded: generator.next())
            }
            let whole = read(bytes, piece: .max, limit: 200)
            let cut = read(bytes, piece: 1 + Int(generator.next() % 9), limit: 200)
            let isSame =
                whole.violation == cut.violation
                && joined(whole.events) == joined(cut.events)
            if !isSame { Issue.record("seed \(seed): \(Array(bytes))") }
            let largest = joined(whole.events).map { event in
                if case .content(let content, _, _) = event { return content.count }
                return 0
            }.max()
            #expect(largest ?? 0 <= 200, "seed \(seed)")
        }
    }
}
