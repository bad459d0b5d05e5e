// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A framing of compressed bytes, named like its content coding (RFC 9110 §8.4.1).
public enum CompressionFormat: String, Sendable, CaseIterable {
    /// gzip (RFC 1952).
    case gzip
    /// The framing of zlib (RFC 1950), which HTTP calls deflate.
    case deflate
}

/// Why bytes could not be compressed or inflated.
public enum CompressionFault: Error, Equatable {
    /// The system has no zlib, or an incompatible one.
    case noLibrary
    /// The bytes do not have the format.
    case corrupt
}

/// The system's zlib, loaded when it is first needed, so that nothing has to be linked against it.
///
/// All compression in Turnpike uses ``Deflater`` and ``Inflater``.
@safe public struct Zlib: Sendable {
    // `z_stream` of zlib.h; its layout is part of the stable interface of the library.
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

    /// Whether this system has the library.
    public static var isThere: Bool { shared != nil }

    /// The library, or nil if the system has none.
    static let shared: Zlib? = load()

    private static func load() -> Zlib? {
        for name in ["libz.so.1", "/usr/lib/libz.1.dylib", "libz.so"] {
            guard let library = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) else { continue }
            guard let beginDeflating = unsafe dlsym(library, "deflateInit2_"),
                let deflate = unsafe dlsym(library, "deflate"),
                let deflateReset = unsafe dlsym(library, "deflateReset"),
                let deflateEnd = unsafe dlsym(library, "deflateEnd"),
                let beginInflating = unsafe dlsym(library, "inflateInit2_"),
                let inflate = unsafe dlsym(library, "inflate"),
                let inflateReset = unsafe dlsym(library, "inflateReset"),
                let inflateEnd = unsafe dlsym(library, "inflateEnd")
            else { continue }
            return unsafe Zlib(
                beginDeflating: unsafeBitCast(beginDeflating, to: BeginDeflating.self),
                deflateStep: unsafeBitCast(deflate, to: Step.self),
                deflateReset: unsafeBitCast(deflateReset, to: End.self),
                deflateEnd: unsafeBitCast(deflateEnd, to: End.self),
                beginInflating: unsafeBitCast(beginInflating, to: BeginInflating.self),
                inflateStep: unsafeBitCast(inflate, to: Step.self),
                inflateReset: unsafeBitCast(inflateReset, to: End.self),
                inflateEnd: unsafeBitCast(inflateEnd, to: End.self))
        }
        return nil
    }

    // The library rejects a layout whose size differs from its own.
    private static let streamBytes = unsafe CInt(MemoryLayout<Stream>.size)

    /// Begins compression.
    ///
    /// The window bits determine the framing: 15 means zlib, 31 gzip, -15 none.
    func beginDeflating(_ stream: Handle, level: CInt, windowBits: CInt) -> Bool {
        unsafe beginDeflating(stream, level, 8, windowBits, 8, 0, "1", Self.streamBytes) == Self.ok
    }

    func deflate(_ stream: Handle, _ flush: CInt) -> CInt { unsafe deflateStep(stream, flush) }

    func resetDeflating(_ stream: Handle) { _ = unsafe deflateReset(stream) }

    func endDeflating(_ stream: Handle) { _ = unsafe deflateEnd(stream) }

    /// Begins inflation.
    ///
    /// The window bits determine the framing: -15 means none.
    func beginInflating(_ stream: Handle, windowBits: CInt) -> Bool {
        unsafe beginInflating(stream, windowBits, "1", Self.streamBytes) == Self.ok
    }

    func inflate(_ stream: Handle) -> CInt { unsafe inflateStep(stream, Self.noFlush) }

    func resetInflating(_ stream: Handle) -> Bool { unsafe inflateReset(stream) == Self.ok }

    func endInflating(_ stream: Handle) { _ = unsafe inflateEnd(stream) }
}
