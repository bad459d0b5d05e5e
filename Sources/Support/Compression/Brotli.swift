// SPDX-License-Identifier: Apache-2.0

/// The system's Brotli decoder, which is loaded at the first use.
@safe struct Brotli: Sendable {
    typealias Create =
        @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) ->
        OpaquePointer?
    typealias Destroy = @convention(c) (OpaquePointer) -> Void
    typealias Decode =
        @convention(c) (
            OpaquePointer, UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafePointer<UInt8>?>,
            UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
            UnsafeMutablePointer<Int>?
        ) -> CInt

    let create: Create
    let destroy: Destroy
    let decode: Decode

    // `BROTLI_DECODER_RESULT_SUCCESS` is 1; 0 is an error, and other values ask for input or space.
    static let error: CInt = 0
    static let success: CInt = 1

    static let shared: Brotli? = {
        guard let library = SystemLibrary("libbrotlidec.so.1"),
            let create: Create = unsafe library.function("BrotliDecoderCreateInstance"),
            let destroy: Destroy = unsafe library.function("BrotliDecoderDestroyInstance"),
            let decode: Decode = unsafe library.function("BrotliDecoderDecompressStream")
        else { return nil }
        return unsafe Brotli(create: create, destroy: destroy, decode: decode)
    }()
}

// SAFETY: only this object uses the state, and the object frees the state at its end.
/// Decodes content in Brotli with a window of at most 16 MiB (RFC 7932 §9.1).
///
/// The library refuses larger windows, which the content coding does not allow.
@safe final class BrotliDecompressor: Decompressor {
    private let brotli: Brotli
    private let state: OpaquePointer
    private var hasEnded = false

    init() throws(CompressionFault) {
        guard let brotli = Brotli.shared, let state = unsafe brotli.create(nil, nil, nil) else {
            throw .noLibrary
        }
        self.brotli = brotli
        unsafe self.state = state
    }

    deinit { unsafe brotli.destroy(state) }

    func inflate(
        _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(CompressionFault) -> Inflater.Step {
        var (left, space) = (input.count, room.count)
        if !hasEnded {
            var source = unsafe input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var sink = unsafe room.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let code = unsafe brotli.decode(state, &left, &source, &space, &sink, nil)
            if code == Brotli.error { throw .corrupt }
            hasEnded = code == Brotli.success
        }
        if hasEnded, left > 0 { throw .corrupt }
        return Inflater.Step(
            consumed: input.count - left, produced: room.count - space, hasEnded: hasEnded)
    }
}
