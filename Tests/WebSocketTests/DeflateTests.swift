// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeCore
import TurnpikeSupport

@testable import TurnpikeWebSocket

@Suite("Compressed messages of a WebSocket")
struct DeflateTests {
    @Test(
        "The server's answer is read, or refused",
        arguments: [
            ("permessage-deflate", DeflateAgreement()),
            (
                "permessage-deflate; server_no_context_takeover;client_no_context_takeover",
                DeflateAgreement(serverForgets: true, clientForgets: true)
            ),
            (
                "permessage-deflate; server_max_window_bits=8; client_max_window_bits=\"9\"",
                DeflateAgreement(serverWindowBits: 8, clientWindowBits: 9)
            ),
            ("permessage-deflate; client_max_window_bits=8", nil),
            ("permessage-deflate; client_max_window_bits", nil),
            ("permessage-deflate; server_max_window_bits=16", nil),
            ("permessage-deflate; server_max_window_bits=09", nil),
            ("permessage-deflate; server_no_context_takeover=1", nil),
            ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", nil),
            ("permessage-deflate; other", nil), ("permessage-deflate;", nil),
            ("permessage-deflate, permessage-deflate", nil), ("x-other", nil), (",", nil),
        ] as [(String, DeflateAgreement?)])
    func agreement(field: String, expected: DeflateAgreement?) {
        let result = try? DeflateAgreement.read(field, wasOffered: true)
        #expect(result == expected)
        #expect(throws: Violation.self) {
            try DeflateAgreement.read(field, wasOffered: false)
        }
    }

    @Test("Without the field there is no extension")
    func none() throws {
        #expect(try DeflateAgreement.read(nil, wasOffered: false) == nil)
        #expect(try DeflateAgreement.read(" ", wasOffered: true) == nil)
    }

    private func inflate(_ inflater: MessageInflater, _ content: Data) throws -> Data {
        inflater.add(content, isLast: true)
        var result = Data()
        while let (piece, isLast) = try inflater.next() {
            result += piece
            if isLast { return result }
        }
        throw ClientError(.incomplete, "no end of the message")
    }

    @Test("The messages of RFC 7692 §7.2.3 are inflated")
    func examples() throws {
        let inflater = MessageInflater(DeflateAgreement(), maxMessageBytes: 1000)
        let examples: [[UInt8]] = [
            [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], [0xF2, 0x00, 0x11, 0x00, 0x00],
            [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00],
            [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00],
            [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00],
        ]
        for example in examples {
            #expect(try inflate(inflater, Data(example)) == Data("Hello".utf8))
        }
    }

    @Test(
        "What one side compresses the other inflates, whatever they agreed on",
        arguments: [9, 11, 15], [false, true])
    func roundTrip(bits: Int, forgets: Bool) throws {
        let agreement = DeflateAgreement(
            serverForgets: forgets, clientForgets: forgets, serverWindowBits: bits,
            clientWindowBits: bits)
        let deflater = MessageDeflater(agreement)
        let inflater = MessageInflater(agreement, maxMessageBytes: 1_000_000)
        let large = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        for message in [Data("Hello".utf8), Data(), Data("Hello".utf8), large, Data(), large] {
            #expect(
                try inflate(inflater, deflater.deflate(message, isLast: true)) == message)
        }
        // In fragments, of which the last one is empty.
        let parts =
            try deflater.deflate(Data("Hel".utf8), isLast: false)
            + deflater.deflate(Data("lo".utf8), isLast: false)
            + deflater.deflate(Data(), isLast: true)
        #expect(try inflate(inflater, parts) == Data("Hello".utf8))
    }

    @Test("A message may end its stream often, and a piece takes no more memory than its content")
    func manyStreams() async {
        // Other tests take memory of their own.
        await #expect(processExitsWith: .success) {
            func pages() throws -> Int {
                let text = try String(contentsOfFile: "/proc/self/statm", encoding: .ascii)
                return try #require(Int(text.prefix { $0 != " " }))
            }
            let inflater = MessageInflater(DeflateAgreement(), maxMessageBytes: 1_000_000)
            let hello: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
            let before = try pages()
            inflater.add(Data(Array(repeating: hello, count: 4000).joined() + [0]), isLast: true)
            var pieces: [Data] = []
            var isLast = false
            while !isLast, let next = try inflater.next() {
                pieces.append(next.piece)
                isLast = next.isLast
            }
            #expect(isLast && pieces.count >= 4000)
            #expect(try pages() - before < 10_000)
            let text = String(repeating: "Hello", count: 4000)
            #expect(pieces.reduce(into: Data(), { $0 += $1 }) == Data(text.utf8))
        }
    }

    @Test("A bomb is refused at the limit, and broken content at once")
    func bombs() throws {
        let bomb = try MessageDeflater(DeflateAgreement())
            .deflate(Data(count: 10_000_000), isLast: true)
        #expect(bomb.count < 20_000)
        let inflater = MessageInflater(DeflateAgreement(), maxMessageBytes: 100_000)
        inflater.add(bomb, isLast: true)
        var inflated = 0
        let violation = #expect(throws: Violation.self) {
            while let (piece, _) = try inflater.next() { inflated += piece.count }
        }
        #expect(violation?.code == .messageTooBig && inflated <= 100_000)
        #expect(violation?.message.contains("more than 100000 bytes") == true)
        let broken = #expect(throws: Violation.self) {
            try inflate(
                MessageInflater(DeflateAgreement(), maxMessageBytes: 1000), Data([0xFF, 0xFF]))
        }
        #expect(broken?.code == .invalidContent)
    }

    @Test(
        "Of a large message, more than a hundred times what came so far is refused before it is inflated"
    )
    func ratio() throws {
        let agreement = DeflateAgreement()
        let inflater = MessageInflater(agreement, maxMessageBytes: 100_000_000)
        // Of these, 1 MiB is inflated and not one byte more, although the message is within its size.
        let bomb = try MessageDeflater(agreement).deflate(Data(count: 10_000_000), isLast: true)
        inflater.add(bomb.dropLast(), isLast: false)
        var inflated = 0
        let violation = #expect(throws: Violation.self) {
            while let (piece, _) = try inflater.next() { inflated += piece.count }
        }
        #expect(violation?.code == .messageTooBig)
        #expect(violation?.message.contains("100 times its size") == true)
        #expect(inflated <= max(1_048_576, 100 * bomb.count))

        // 1 MiB is always allowed, to each message anew, and larger ones at a lower ratio.
        let other = MessageInflater(agreement, maxMessageBytes: 100_000_000)
        let deflater = MessageDeflater(agreement)
        var generator = SeededGenerator(seed: 1)
        let noise = Data((0..<50_000).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
        for message in [
            Data(count: 1_048_576), Data(count: 1_048_576), noise + Data(count: 4_000_000),
        ] {
            #expect(try inflate(other, deflater.deflate(message, isLast: true)) == message)
        }
        let tooLarge = try deflater.deflate(Data(count: 1_048_577), isLast: true)
        #expect(throws: Violation.self) { try inflate(other, tooLarge) }
    }
}
