// SPDX-License-Identifier: Apache-2.0

/// The system's zlib, which is loaded at the first use and not linked to the program.
@safe struct Zlib: Sendable {
    // This is `z_stream` of zlib.h, whose layout is part of the stable interface of the library.
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

    typealias Handle = UnsafeMutablePointer<Stream>
    private typealias BeginDeflating =
        @convention(c) (
            UnsafeMutableRawPointer, CInt, CInt, CInt, CInt, CInt, UnsafePointer<CChar>, CInt
        ) -> CInt
    private typealias BeginInflating =
        @convention(c) (UnsafeMutableRawPointer, CInt, UnsafePointer<CChar>, CInt) -> CInt
    private typealias Step = @convention(c) (UnsafeMutableRawPointer, CInt) -> CInt
    private typealias End = @convention(c) (UnsafeMutableRawPointer) -> CInt

    private let beginDeflating: BeginDeflating
    private let deflateStep: Step
    private let deflateReset: End
    private let deflateEnd: End
    private let beginInflating: BeginInflating
    private let inflateStep: Step
    private let inflateReset: End
    private let inflateEnd: End

    static let noFlush: CInt = 0
    static let syncFlush: CInt = 2
    static let finish: CInt = 4
    static let ok: CInt = 0
    static let streamEnd: CInt = 1
    // `Z_BUF_ERROR`: no progress was possible.
    static let bufferError: CInt = -5

    static let shared: Zlib? = load()

    private static func load() -> Zlib? {
        for name in ["libz.so.1", "/usr/lib/libz.1.dylib", "libz.so"] {
            guard let library = SystemLibrary(name),
                let beginDeflating: BeginDeflating = unsafe library.function("deflateInit2_"),
                let deflateStep: Step = unsafe library.function("deflate"),
                let deflateReset: End = unsafe library.function("deflateReset"),
                let deflateEnd: End = unsafe library.function("deflateEnd"),
                let beginInflating: BeginInflating = unsafe library.function("inflateInit2_"),
                let inflateStep: Step = unsafe library.function("inflate"),
                let inflateReset: End = unsafe library.function("inflateReset"),
                let inflateEnd: End = unsafe library.function("inflateEnd")
            else { continue }
            return unsafe Zlib(
                beginDeflating: beginDeflating, deflateStep: deflateStep,
                deflateReset: deflateReset, deflateEnd: deflateEnd,
                beginInflating: beginInflating, inflateStep: inflateStep,
                inflateReset: inflateReset, inflateEnd: inflateEnd)
        }
        return nil
    }

    private static let streamBytes = unsafe CInt(MemoryLayout<Stream>.size)

    /// Starts compression; `windowBits` is 15 for zlib's framing, 31 for gzip, -15 for no framing.
    func beginDeflating(_ stream: Handle, level: CInt, windowBits: CInt) -> Bool {
        unsafe beginDeflating(stream, level, 8, windowBits, 8, 0, "1", Self.streamBytes) == Self.ok
    }

    func deflate(_ stream: Handle, _ flush: CInt) -> CInt { unsafe deflateStep(stream, flush) }

    func resetDeflating(_ stream: Handle) { _ = unsafe deflateReset(stream) }

    func endDeflating(_ stream: Handle) { _ = unsafe deflateEnd(stream) }

    /// Starts inflation; `windowBits` is -15 for no framing.
    func beginInflating(_ stream: Handle, windowBits: CInt) -> Bool {
        unsafe beginInflating(stream, windowBits, "1", Self.streamBytes) == Self.ok
    }

    func inflate(_ stream: Handle) -> CInt { unsafe inflateStep(stream, Self.noFlush) }

    func resetInflating(_ stream: Handle) -> Bool { unsafe inflateReset(stream) == Self.ok }

    func endInflating(_ stream: Handle) { _ = unsafe inflateEnd(stream) }
}
