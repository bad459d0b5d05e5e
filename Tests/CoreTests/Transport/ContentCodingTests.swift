// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

/// What ``Response/decoded()`` makes of content in each coding that this machine can write.
@Suite("Content codings")
struct ContentCodingTests {
    private static let content = Data(
        (0..<60).map { "line \($0 * $0 % 17) of a log, \($0)\n" }.joined().utf8)

    private static func response(
        _ chunks: [Data], _ coding: String, headers: HTTPHeaders = [:]
    ) -> Response {
        var headers = headers
        headers[.contentEncoding] = coding
        return Response(
            head: ResponseHead(status: 200, headers: headers, url: URL(filePath: "/")),
            body: ResponseBody(source: Chunks(chunks)))
    }

    private static func decoded(
        _ chunks: [Data], _ coding: String, upTo limit: Int = 1 << 20
    ) async throws -> Data {
        try await response(chunks, coding).decoded().body.collect(upTo: limit)
    }

    private static func decoded(_ data: Data, _ format: CompressionFormat) async throws -> Data {
        try await decoded([data], format.rawValue)
    }

    @Test(
        "Content is decoded, however it is cut into chunks", arguments: CompressionFormat.written,
        [1, 7, 100, 1 << 20])
    func whole(format: CompressionFormat, size: Int) async throws {
        let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let coded = try format.coded(content)
        #expect(coded.count < content.count / 10)
        let chunks = stride(from: 0, to: coded.count, by: size).map {
            coded.dropFirst($0).prefix(size)
        }
        let response = try Self.response(Array(chunks), format.rawValue).decoded()
        #expect(response.headers[.contentEncoding] == nil)
        #expect(try await response.body.collect(upTo: 1 << 20) == content)
        #expect(response.body.encodedBytes == Int64(coded.count))
    }

    @Test("Content that is cut after any byte is an error", arguments: CompressionFormat.written)
    func cut(format: CompressionFormat) async throws {
        let coded = try format.coded(Self.content)
        for count in 1..<coded.count {
            await expectError(.decompression) {
                try await Self.decoded(coded.prefix(count), format)
            }
        }
        #expect(try await Self.decoded(coded, format) == Self.content)
    }

    @Test(
        "A byte that is flipped is an error, where the coding has a checksum",
        arguments: CompressionFormat.written, [1, 0x80, 0xFF] as [UInt8])
    func flipped(format: CompressionFormat, bits: UInt8) async throws {
        let coded = try format.coded(Self.content)
        var unnoticed: [Int] = []
        for index in coded.indices {
            var damaged = coded
            damaged[index] ^= bits
            do {
                let content = try await Self.decoded(damaged, format)
                unnoticed.append(index)
                if format != .brotli { #expect(content == Self.content) }
            } catch {
                let code = (error as? ClientError)?.code
                #expect(code == .decompression || (format == .brotli && code == .tooLarge))
            }
        }
        // Some bits mean nothing for the content, such as the time in gzip's head, and Brotli has no
        // checksum: damage that it does not notice is other content.
        let allowed = format == .brotli ? coded.count - 1 : coded.count / 10
        #expect(unnoticed.count <= allowed)
    }

    @Test(
        "Bytes that follow the end are an error, in the same chunk and later",
        arguments: CompressionFormat.written)
    func trailing(format: CompressionFormat) async throws {
        let coded = try format.coded(Self.content)
        for rest in [Data([0]), Data([0x1F]), Data([0x28]), Data("other content".utf8)] {
            await expectError(.decompression) { try await Self.decoded(coded + rest, format) }
            await expectError(.decompression) {
                try await Self.decoded([coded, rest], format.rawValue)
            }
        }
    }

    @Test(
        "Members of gzip and frames of Zstandard are one content; nothing follows the others",
        arguments: CompressionFormat.written)
    func several(format: CompressionFormat) async throws {
        let two = try format.coded(Data("a".utf8)) + format.coded(Data("b".utf8))
        switch format {
        case .gzip, .zstd: #expect(try await Self.decoded(two, format) == Data("ab".utf8))
        case .brotli, .deflate:
            await expectError(.decompression) { try await Self.decoded(two, format) }
        }
    }

    @Test("No content, coded, is empty", arguments: CompressionFormat.written)
    func empty(format: CompressionFormat) async throws {
        #expect(try await Self.decoded(format.coded(Data()), format).isEmpty)
        // No bytes at all, where the end may have been cut, and where it was told.
        await expectError(.decompression) { try await Self.decoded(Data(), format) }
        let chunked = Self.response(
            [], format.rawValue, headers: ["Transfer-Encoding": "chunked"])
        #expect(try await chunked.decoded().body.collect(upTo: 1).isEmpty)
    }

    @Test("Codings are taken off in turn", arguments: CompressionFormat.written)
    func stacked(format: CompressionFormat) async throws {
        for outer in CompressionFormat.written {
            let coded = try outer.coded(format.coded(Self.content))
            let codings = "\(format.rawValue), \(outer.rawValue)"
            #expect(try await Self.decoded([coded], codings) == Self.content)
            await expectError(.decompression) {
                try await Self.decoded([coded.dropLast()], codings)
            }
        }
    }

    @Test("A bomb costs only what its reader takes", arguments: CompressionFormat.written)
    func bomb(format: CompressionFormat) async throws {
        let bomb = try format.coded(format.coded(Data(count: 64 << 20), level: 9), level: 9)
        let codings = "\(format.rawValue), \(format.rawValue)"
        let body = try Self.response([bomb], codings).decoded().body
        var largest = 0
        var count = 0
        for try await piece in body {
            largest = max(largest, piece.count)
            count += piece.count
            if count > 1_000_000 { break }
        }
        #expect(largest <= 65_536 && count < 1_100_000)
        await expectError(.tooLarge) {
            try await Self.decoded([bomb], codings, upTo: 1_000_000)
        }
    }

    /// Content of no bytes, whose inner coding has this many blocks, each of five bytes.
    private static func empty(blocks: Int) throws -> Data {
        var inner = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
        for _ in 0..<blocks { inner += [0, 0, 0, 0xFF, 0xFF] }
        inner += [1, 0, 0, 0xFF, 0xFF] + Data(count: 8)
        return try CompressionFormat.gzip.coded(inner, level: 9)
    }

    @Test("Nested codings that grow without output are an error")
    func growth() async throws {
        let small = try Self.empty(blocks: 100_000)
        #expect(try await Self.decoded([small], "gzip, gzip").isEmpty)
        let large = try Self.empty(blocks: 400_000)
        #expect(large.count < 10_000)
        await expectError(.decompression) { try await Self.decoded([large], "gzip, gzip") }
    }

    @Test("A cancellation ends the decoding of content without output")
    func cancelled() async throws {
        let body = Mutex<ResponseBody?>(nil)
        let pieces = Mutex(0)
        let response = try Self.response([try Self.empty(blocks: 100_000)], "gzip, gzip")
            .decoded {
                try CountingDecompressor(format: $0) {
                    let count = pieces.withLock { pieces in
                        pieces += 1
                        return pieces
                    }
                    if count == 3 { body.withLock { $0 }?.cancel() }
                }
            }
        body.withLock { $0 = response.body }
        await #expect(throws: (any Error).self) { try await response.body.collect(upTo: 1) }
        #expect(pieces.withLock { $0 } == 3)
    }

    @Test("A coding whose library is absent fails with the package that has it")
    func absent() async throws {
        for (coding, package) in [
            ("br", "libbrotli1"), ("zstd", "libzstd1"), ("gzip", "zlib1g"), ("x-gzip", "zlib1g"),
        ] {
            let response = Self.response([Data([1])], coding)
            let error = #expect(throws: ClientError.self) {
                try response.decoded { _ in throw CompressionFault.noLibrary }
            }
            #expect(error?.code == .decompression)
            #expect(error?.message.contains("Debian's \(package))") == true)
        }
    }
}

private final class CountingDecompressor: Decompressor {
    private let decompressor: any Decompressor
    private let willDecode: () -> Void

    init(format: CompressionFormat, willDecode: @escaping () -> Void) throws {
        decompressor = try format.decompressor()
        self.willDecode = willDecode
    }

    func inflate(
        _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(CompressionFault) -> Inflater.Step {
        willDecode()
        return try unsafe decompressor.inflate(input, into: room)
    }
}

/// The frames of Zstandard (RFC 8878 §3.1), written by hand.
@Suite("Zstandard's frames", .needs("libzstd1", if: CompressionFormat.zstd.isThere))
struct ZstdFrameTests {
    private static let magic = Data([0x28, 0xB5, 0x2F, 0xFD])
    // Its four bytes of content are passed over.
    private static let skippable = Data([0x5A, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4])

    /// A frame with one uncompressed block, and a window that the descriptor tells.
    private static func frame(window: UInt8, _ text: String) -> Data {
        let size = text.utf8.count << 3 | 1
        return magic + [0, window, UInt8(size & 0xFF), UInt8(size >> 8), 0] + Data(text.utf8)
    }

    private func decoded(_ data: Data, chunks size: Int) throws -> (Data, hasEnded: Bool) {
        let decompressor = try CompressionFormat.zstd.decompressor()
        var result = Data()
        var hasEnded = false
        var room = [UInt8](repeating: 0, count: 100)
        for start in stride(from: 0, to: data.count, by: size) {
            let chunk = Array(data.dropFirst(start).prefix(size))
            let step = try unsafe chunk.withUnsafeBytes { input in
                try unsafe room.withUnsafeMutableBytes {
                    try unsafe decompressor.inflate(input, into: $0)
                }
            }
            #expect(step.consumed == chunk.count)
            result += room[..<step.produced]
            hasEnded = step.hasEnded
        }
        return (result, hasEnded)
    }

    @Test("Skippable frames have no content, wherever they stand", arguments: [1, 5, 1000])
    func skippable(size: Int) throws {
        let (a, b) = (Self.frame(window: 0, "a"), Self.frame(window: 0, "b"))
        for (data, text) in [
            (Self.skippable, ""), (Self.skippable + a, "a"), (a + Self.skippable, "a"),
            (a + Self.skippable + Self.skippable + b, "ab"),
        ] {
            #expect(try decoded(data, chunks: size) == (Data(text.utf8), true))
            #expect(try !decoded(data.dropLast(), chunks: size).hasEnded)
        }
    }

    @Test("A window has at most 8 MiB")
    func windows() throws {
        // 8 MiB, an eighth more, 16 MiB, and the largest that can be written (RFC 8878 §3.1.1.1.2).
        #expect(try decoded(Self.frame(window: 0x68, "a"), chunks: 100) == (Data("a".utf8), true))
        for window in [0x69, 0x70, 0xFF] as [UInt8] {
            #expect(throws: CompressionFault.corrupt) {
                try decoded(Self.frame(window: window, "a"), chunks: 100)
            }
        }
    }

    @Test("Frames of the library's first versions are not read", arguments: 0x1E...0x27)
    func old(first: Int) throws {
        let old = Data([UInt8(first), 0xB5, 0x2F, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0])
        for data in [old, Self.frame(window: 0, "a") + old] {
            #expect(throws: CompressionFault.corrupt) { try decoded(data, chunks: 1000) }
        }
    }

    @Test("What asks for a dictionary is an error")
    func dictionary() throws {
        let data = Self.magic + [1, 0, 7, 9, 0, 0, 0x61]
        #expect(throws: CompressionFault.corrupt) { try decoded(data, chunks: 1000) }
    }
}

/// Delivers chunks, and then the end.
private final class Chunks: ResponseBodySource, @unchecked Sendable {
    // SAFETY: one reader takes the chunks.
    private var rest: ArraySlice<Data>

    init(_ chunks: [Data]) { rest = chunks[...] }

    func next() async throws -> Data? { rest.popFirst() }

    func cancel(_ reason: CancelReason) {}
}
