// SPDX-License-Identifier: Apache-2.0

/// The system's Zstandard library, which is loaded at the first use.
@safe struct Zstd: Sendable {
    // The struct is `ZSTD_inBuffer` and `ZSTD_outBuffer` of zstd.h, which have the same layout.
    @unsafe struct Buffer {
        var start: UnsafeMutableRawPointer?
        var size: Int
        var position = 0
    }

    typealias Create = @convention(c) () -> OpaquePointer?
    typealias Free = @convention(c) (OpaquePointer) -> Int
    typealias Set = @convention(c) (OpaquePointer, CInt, CInt) -> Int
    typealias Decode =
        @convention(c) (OpaquePointer, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int
    typealias Encode =
        @convention(c) (OpaquePointer, UnsafeMutableRawPointer, UnsafeMutableRawPointer, CInt) ->
        Int

    let isError: @convention(c) (Int) -> CUnsignedInt
    let createDecoder: Create
    let freeDecoder: Free
    let setDecoder: Set
    let decode: Decode
    let createEncoder: Create
    let freeEncoder: Free
    let setEncoder: Set
    let encode: Encode

    // `ZSTD_d_windowLogMax`, `ZSTD_c_compressionLevel`, `ZSTD_c_checksumFlag`.
    static let windowLogMax: CInt = 100
    static let level: CInt = 100
    static let checksum: CInt = 201

    static let shared: Zstd? = {
        guard let library = SystemLibrary("libzstd.so.1"),
            let isError: @convention(c) (Int) -> CUnsignedInt = library.function("ZSTD_isError"),
            let createDecoder: Create = unsafe library.function("ZSTD_createDCtx"),
            let freeDecoder: Free = unsafe library.function("ZSTD_freeDCtx"),
            let setDecoder: Set = unsafe library.function("ZSTD_DCtx_setParameter"),
            let decode: Decode = unsafe library.function("ZSTD_decompressStream"),
            let createEncoder: Create = unsafe library.function("ZSTD_createCCtx"),
            let freeEncoder: Free = unsafe library.function("ZSTD_freeCCtx"),
            let setEncoder: Set = unsafe library.function("ZSTD_CCtx_setParameter"),
            let encode: Encode = unsafe library.function("ZSTD_compressStream2")
        else { return nil }
        return unsafe Zstd(
            isError: isError, createDecoder: createDecoder, freeDecoder: freeDecoder,
            setDecoder: setDecoder, decode: decode, createEncoder: createEncoder,
            freeEncoder: freeEncoder, setEncoder: setEncoder, encode: encode)
    }()

    func isGood(_ code: Int) -> Bool { isError(code) == 0 }
}

// SAFETY: only this object uses the context, and the object frees the context at its end.
/// Decodes Zstandard content with any number of frames, including skippable frames.
@safe final class ZstdDecompressor: Decompressor {
    private let zstd: Zstd
    private let context: OpaquePointer
    private var hasBegun = false
    private var isBetween = true

    init() throws(CompressionFault) {
        guard let zstd = Zstd.shared, let context = unsafe zstd.createDecoder() else {
            throw .noLibrary
        }
        self.zstd = zstd
        unsafe self.context = context
        // A window has at most 8 MiB (RFC 9659 §3). The library's own limit is 128 MiB.
        guard unsafe zstd.isGood(zstd.setDecoder(context, Zstd.windowLogMax, 23)) else {
            throw .noLibrary
        }
    }

    deinit { _ = unsafe zstd.freeDecoder(context) }

    func inflate(
        _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(CompressionFault) -> Inflater.Step {
        var source = unsafe Zstd.Buffer(
            start: UnsafeMutableRawPointer(mutating: input.baseAddress), size: input.count)
        var sink = unsafe Zstd.Buffer(start: room.baseAddress, size: room.count)
        // The loop also runs without input, because an incomplete frame may have pending output.
        var isFirst = true
        while unsafe isFirst || (source.position < input.count && sink.position < room.count) {
            isFirst = false
            if isBetween {
                guard unsafe source.position < input.count else { break }
                // The library still supports frames of the first versions, which have no limit on
                // windows. The magic numbers of all other frames begin with 0x28, or with a byte
                // from 0x50 to 0x5F.
                let first = unsafe input[source.position]
                guard first == 0x28 || first >> 4 == 5 else { throw .corrupt }
                hasBegun = true
            }
            let code = unsafe zstd.decode(context, &sink, &source)
            guard zstd.isGood(code) else { throw .corrupt }
            // The code is 0 at the end of a frame, after all output was written.
            isBetween = code == 0
        }
        return unsafe Inflater.Step(
            consumed: source.position, produced: sink.position, hasEnded: hasBegun && isBetween)
    }
}

// SAFETY: only this object uses the context, and the object frees the context at its end.
/// Compresses content chunk by chunk into one frame of Zstandard, with a checksum.
@safe public final class ZstdCompressor: Compressor {
    private let zstd: Zstd
    private let context: OpaquePointer
    private var output = [UInt8](repeating: 0, count: 65_536)

    /// Starts the compression of the content of one message.
    /// - Parameter level: From 1 (fastest) to 9 (smallest, with 17 MiB of memory). With these
    ///   levels, the window is smaller than the 8 MiB that HTTP allows.
    /// - Throws: ``CompressionFault/noLibrary`` if this system does not have the library.
    public init(level: Int) throws(CompressionFault) {
        guard let zstd = Zstd.shared, let context = unsafe zstd.createEncoder() else {
            throw .noLibrary
        }
        self.zstd = zstd
        unsafe self.context = context
        let level = CInt(min(max(level, 1), 9))
        guard unsafe zstd.isGood(zstd.setEncoder(context, Zstd.level, level)),
            unsafe zstd.isGood(zstd.setEncoder(context, Zstd.checksum, 1))
        else { throw .noLibrary }
    }

    deinit { _ = unsafe zstd.freeEncoder(context) }

    /// Compresses a chunk.
    public func add(_ chunk: Data) throws(CompressionFault) -> Data { try run(chunk, ends: false) }

    /// Ends the content.
    public func finish() throws(CompressionFault) -> Data { try run(Data(), ends: true) }

    private func run(_ chunk: Data, ends: Bool) throws(CompressionFault) -> Data {
        var result = Data()
        let isGood = unsafe chunk.withUnsafeBytes { input in
            var source = unsafe Zstd.Buffer(
                start: UnsafeMutableRawPointer(mutating: input.baseAddress), size: input.count)
            while true {
                let (code, count) = unsafe output.withUnsafeMutableBytes { room in
                    var sink = unsafe Zstd.Buffer(start: room.baseAddress, size: room.count)
                    // The values are `ZSTD_e_continue` and `ZSTD_e_end`.
                    let code = unsafe zstd.encode(context, &sink, &source, ends ? 2 : 0)
                    return unsafe (code, sink.position)
                }
                guard zstd.isGood(code) else { return false }
                result += output[..<count]
                // At the end, the code is the number of bytes that are still to be written.
                if unsafe ends ? code == 0 : source.position == source.size { return true }
            }
        }
        guard isGood else { throw .corrupt }
        return result
    }
}
