import Foundation
import TurnpikeCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The system's zlib, loaded when it is first needed, so that nothing is linked against it.
@safe struct Zlib: Sendable {
    // zlib.h's z_stream; its layout is part of the library's stable interface.
    @unsafe struct Stream {
        var nextIn: UnsafePointer<UInt8>?
        var availableIn: CUnsignedInt = 0
        var totalIn: CUnsignedLong = 0
        var nextOut: UnsafeMutablePointer<UInt8>?
        var availableOut: CUnsignedInt = 0
        var totalOut: CUnsignedLong = 0
        var message: UnsafePointer<CChar>?
        var state: OpaquePointer?
        var allocate: OpaquePointer?
        var free: OpaquePointer?
        var opaque: OpaquePointer?
        var dataType: CInt = 0
        var adler: CUnsignedLong = 0
        var reserved: CUnsignedLong = 0
    }

    private typealias Initialize =
        @convention(c) (
            UnsafeMutableRawPointer, CInt, CInt, CInt, CInt, CInt, UnsafePointer<CChar>, CInt
        ) -> CInt
    private typealias Step = @convention(c) (UnsafeMutableRawPointer, CInt) -> CInt
    private typealias End = @convention(c) (UnsafeMutableRawPointer) -> CInt

    private let initialize: Initialize
    private let step: Step
    private let end: End

    static let noFlush: CInt = 0
    static let finish: CInt = 4

    /// The library, or nil where the system has none.
    static let shared: Zlib? = load()

    private static func load() -> Zlib? {
        for name in ["libz.so.1", "libz.dylib", "libz.so"] {
            guard let library = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) else { continue }
            guard let initialize = unsafe dlsym(library, "deflateInit2_"),
                let step = unsafe dlsym(library, "deflate"),
                let end = unsafe dlsym(library, "deflateEnd")
            else { continue }
            return unsafe Zlib(
                initialize: unsafeBitCast(initialize, to: Initialize.self),
                step: unsafeBitCast(step, to: Step.self), end: unsafeBitCast(end, to: End.self))
        }
        return nil
    }

    /// Begins to compress, with the framing that the window's bits say: 15 is zlib's, 31 gzip's.
    func begin(_ stream: UnsafeMutablePointer<Stream>, level: CInt, windowBits: CInt) -> Bool {
        let size = unsafe CInt(MemoryLayout<Stream>.size)
        return unsafe initialize(stream, level, 8, windowBits, 8, 0, "1", size) == 0
    }

    func run(_ stream: UnsafeMutablePointer<Stream>, _ flush: CInt) -> CInt {
        unsafe step(stream, flush)
    }

    func finish(_ stream: UnsafeMutablePointer<Stream>) { _ = unsafe end(stream) }
}

/// Compresses one content, chunk by chunk.
// SAFETY: the stream's memory belongs to this object alone, and goes with it.
@safe final class Compressor {
    private let zlib: Zlib
    private let stream: UnsafeMutablePointer<Zlib.Stream>
    private var output = [UInt8](repeating: 0, count: 65_536)

    init(_ coding: CompressBodies.Coding, level: Int) throws {
        guard let zlib = Zlib.shared else {
            throw ClientError(
                .unsupported, "this system has no zlib (libz.so.1) to compress a request body with")
        }
        self.zlib = zlib
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: Zlib.Stream())
        guard unsafe zlib.begin(stream, level: CInt(level), windowBits: coding.windowBits) else {
            throw ClientError(.unsupported, "the system's zlib cannot be used")
        }
    }

    deinit {
        unsafe zlib.finish(stream)
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    /// The compressed bytes that a chunk gives.
    func add(_ chunk: Data) throws -> Data { try run(chunk, Zlib.noFlush) }

    /// The last compressed bytes.
    func finish() throws -> Data { try run(Data(), Zlib.finish) }

    private func run(_ chunk: Data, _ flush: CInt) throws -> Data {
        var result = Data()
        try unsafe chunk.withUnsafeBytes { input in
            unsafe stream.pointee.nextIn = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            unsafe stream.pointee.availableIn = CUnsignedInt(input.count)
            while true {
                let (code, count) = unsafe output.withUnsafeMutableBufferPointer { buffer in
                    unsafe stream.pointee.nextOut = buffer.baseAddress
                    unsafe stream.pointee.availableOut = CUnsignedInt(buffer.count)
                    let code = unsafe zlib.run(stream, flush)
                    return unsafe (code, buffer.count - Int(stream.pointee.availableOut))
                }
                result += output[..<count]
                // 1 is the end of the stream, -5 that nothing was left to do.
                if code == 1 || code == -5 { return }
                guard code == 0 else {
                    throw ClientError(.upload, "the request body cannot be compressed")
                }
                if unsafe stream.pointee.availableIn == 0, count < output.count, flush == 0 {
                    return
                }
            }
        }
        return result
    }
}
