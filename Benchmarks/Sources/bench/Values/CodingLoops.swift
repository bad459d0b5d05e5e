// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// Minimal loops over the libraries of Brotli and Zstandard, as a C program would have them.
///
/// They show the cost of decoding without the framework. They look up the functions of the
/// libraries themselves.
enum CodingLoops {
    static let brotli: CodingLoop? = {
        typealias Create =
            @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) ->
            OpaquePointer?
        typealias Destroy = @convention(c) (OpaquePointer?) -> Void
        typealias Decode =
            @convention(c) (
                OpaquePointer?, UnsafeMutablePointer<Int>,
                UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<Int>,
                UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<Int>?
            ) -> CInt
        typealias Encode =
            @convention(c) (
                CInt, CInt, CInt, Int, UnsafePointer<UInt8>?, UnsafeMutablePointer<Int>,
                UnsafeMutablePointer<UInt8>
            ) -> CInt
        let (decoder, encoder) = ("libbrotlidec.so.1", "libbrotlienc.so.1")
        guard let create: Create = function("BrotliDecoderCreateInstance", of: decoder),
            let destroy: Destroy = function("BrotliDecoderDestroyInstance", of: decoder),
            let decode: Decode = function("BrotliDecoderDecompressStream", of: decoder),
            let encode: Encode = function("BrotliEncoderCompress", of: encoder)
        else { return nil }
        return CodingLoop(name: "br") { content in
            var count = content.count + 1024
            var output = [UInt8](repeating: 0, count: count)
            // The quality and the window of most servers.
            _ = encode(5, 22, 0, content.count, [UInt8](content), &count, &output)
            return Data(output[..<count])
        } decode: { input, room in
            let state = create(nil, nil, nil)
            defer { destroy(state) }
            var (left, source) = (
                input.count, input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            )
            var produced = 0
            while true {
                var space = room.count
                var sink = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                let code = decode(state, &left, &source, &space, &sink, nil)
                produced += room.count - space
                if code < 2 { return produced }
            }
        }
    }()

    static let zstd: CodingLoop? = {
        struct Buffer {
            var start: UnsafeMutableRawPointer?
            var size: Int
            var position = 0
        }
        typealias Create = @convention(c) () -> OpaquePointer?
        typealias Free = @convention(c) (OpaquePointer?) -> Int
        typealias Decode =
            @convention(c) (OpaquePointer?, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int
        let library = "libzstd.so.1"
        guard let create: Create = function("ZSTD_createDCtx", of: library),
            let free: Free = function("ZSTD_freeDCtx", of: library),
            let decode: Decode = function("ZSTD_decompressStream", of: library)
        else { return nil }
        return CodingLoop(name: "zstd") { content in
            let compressor = try ZstdCompressor(level: 3)
            return try compressor.add(content) + compressor.finish()
        } decode: { input, room in
            let context = create()
            defer { _ = free(context) }
            var source = Buffer(
                start: UnsafeMutableRawPointer(mutating: input.baseAddress), size: input.count)
            var produced = 0
            while true {
                var sink = Buffer(start: room.baseAddress, size: room.count)
                let code = decode(context, &sink, &source)
                produced += sink.position
                // The content has ended, or there is an error.
                if code == 0 || code < 0 { return produced }
            }
        }
    }()

    private static func function<Function>(_ name: String, of library: String) -> Function? {
        guard let handle = dlopen(library, RTLD_NOW), let symbol = dlsym(handle, name) else {
            return nil
        }
        return unsafeBitCast(symbol, to: Function.self)
    }
}

/// A content coding without the framework.
struct CodingLoop: Sendable {
    let name: String
    let encode: @Sendable (Data) throws -> Data
    /// Decodes all input piece by piece into one buffer, and returns the size of the content.
    let decode: @Sendable (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Int

    init(
        name: String, encode: @escaping @Sendable (Data) throws -> Data,
        decode: @escaping @Sendable (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Int
    ) {
        self.name = name
        self.encode = encode
        self.decode = decode
    }
}
