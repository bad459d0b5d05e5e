// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeSupport

@Suite("Compressing and inflating")
struct CompressionTests {
    private static let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })

    /// Inflates input that comes in pieces, into as little room as is said.
    private func inflated(
        _ data: Data, _ format: CompressionFormat, pieces: Int = .max, room: Int = 65_536
    ) throws -> (content: Data, hasEnded: Bool) {
        let inflater = try format.decompressor()
        var content = Data()
        var hasEnded = false
        var rest = [UInt8](data)[...]
        var output = [UInt8](repeating: 0, count: room)
        while true {
            let piece = Array(rest.prefix(pieces))
            let step = try unsafe piece.withUnsafeBytes { input in
                try unsafe output.withUnsafeMutableBytes { output in
                    try unsafe inflater.inflate(input, into: output)
                }
            }
            content += output[..<step.produced]
            rest = rest.dropFirst(step.consumed)
            hasEnded = step.hasEnded
            if rest.isEmpty, step.produced < room { return (content, hasEnded) }
        }
    }

    @Test(
        "Compressed content is inflated to the same bytes", arguments: CompressionFormat.written)
    func roundTrip(format: CompressionFormat) throws {
        let coded = try format.coded(Self.content)
        #expect(coded.count < Self.content.count / 10)
        for (pieces, room) in [(Int.max, 65_536), (1, 65_536), (1000, 10), (3, 1)] {
            let result = try inflated(
                pieces == 3 ? format.coded(Data("hello".utf8)) : coded, format,
                pieces: pieces, room: room)
            #expect(result.content == (pieces == 3 ? Data("hello".utf8) : Self.content))
            #expect(result.hasEnded)
        }
    }

    @Test("Large content is compressed in steps")
    func steps() throws {
        let deflater = try Deflater(.gzip, level: 6)
        let coded = try deflater.add(Self.content, step: 1000) + deflater.finish()
        #expect(try inflated(coded, .gzip).content == Self.content)
    }

    @Test(
        "Raw streams are inflated message by message, with and without the window before",
        arguments: [9, 12, 15], [false, true])
    func rawStreams(bits: Int, forgets: Bool) throws {
        let deflater = try Deflater(rawWindowBits: bits, level: 6)
        let inflater = try Inflater(rawWindowBits: bits)
        var sizes: [Int] = []
        for _ in 0..<3 {
            let message = Data((0..<400).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 31 >> 3) })
            let coded = try deflater.add(message) + deflater.flush()
            #expect(coded.suffix(4) == Data([0, 0, 0xFF, 0xFF]))
            sizes.append(coded.count)
            var output = Data(count: 1000)
            let step = try unsafe coded.withUnsafeBytes { input in
                try unsafe output.withUnsafeMutableBytes {
                    try unsafe inflater.inflate(input, into: $0)
                }
            }
            #expect(output.prefix(step.produced) == message && step.consumed == coded.count)
            if forgets {
                deflater.reset()
                try inflater.reset()
            }
        }
        // A message that came before costs next to nothing, unless it was forgotten.
        #expect(forgets ? sizes[1] == sizes[0] : sizes[1] < sizes[0] / 3)
    }

    @Test("Content that is cut off has not ended")
    func cut() throws {
        let coded = try CompressionFormat.gzip.coded(Self.content)
        let result = try inflated(coded.dropLast(9), .gzip)
        #expect(!result.hasEnded)
        #expect(Self.content.starts(with: result.content))
    }

    @Test("Brotli's large windows are refused")
    func largeWindow() throws {
        // The window of 2^24 bytes and an empty last block; and one of 2^30, which RFC 7932 lacks.
        guard CompressionFormat.brotli.isThere else { return }
        #expect(try inflated(Data([0x3F]), .brotli).hasEnded)
        #expect(throws: CompressionFault.corrupt) {
            try inflated(Data([0x11, 0xDE]), .brotli)
        }
    }

    @Test("What can be decoded is asked for, and nothing where that is nothing")
    func acceptEncoding() {
        let there = CompressionFormat.allCases.filter(\.isThere).map(\.rawValue)
        #expect(CompressionFormat.acceptEncoding == there.joined(separator: ", "))
        #expect(CompressionFormat.acceptEncoding(of: [.zstd, .gzip]) == "zstd, gzip")
        #expect(CompressionFormat.acceptEncoding(of: []) == "identity")
    }

    @Test("zlib's classes do not take the formats of other libraries")
    func others() {
        #expect(throws: CompressionFault.noLibrary) { try Inflater(.zstd) }
        #expect(throws: CompressionFault.noLibrary) { try Deflater(.brotli, level: 6) }
    }

    @Test("Deflate without zlib's framing is read, as some servers send it")
    func bare() throws {
        let framed = try CompressionFormat.deflate.coded(Self.content)
        // Two bytes in front, and a checksum of four behind.
        let bare = framed.dropFirst(2).dropLast(4)
        let result = try inflated(Data(bare), .deflate)
        #expect(result.content == Self.content)
        #expect(result.hasEnded)
    }

    @Test("Bytes of another format are an error", arguments: CompressionFormat.written)
    func corrupt(format: CompressionFormat) throws {
        #expect(throws: CompressionFault.corrupt) {
            try inflated(Data("this is not compressed".utf8), format)
        }
    }
}
