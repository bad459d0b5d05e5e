// SPDX-License-Identifier: Apache-2.0

/// A format of compressed bytes, with the name of the content coding (RFC 9110 §8.4.1).
///
/// The cases have the order of `Accept-Encoding`; servers without a preference use the first case.
public enum CompressionFormat: String, Sendable, CaseIterable {
    /// Brotli (RFC 7932), without large windows.
    case brotli = "br"
    /// Zstandard (RFC 8878), with windows up to 8 MiB (RFC 9659).
    case zstd
    /// gzip (RFC 1952).
    case gzip
    /// The framing of zlib (RFC 1950), which HTTP calls deflate.
    case deflate

    /// Creates the format of a content coding, or nil for an unknown coding.
    public init?(coding: String) {
        let name = coding.lowercased()
        // A recipient treats `x-gzip` as `gzip` (RFC 9110 §8.4.1.3).
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    var isOfZlib: Bool { self == .gzip || self == .deflate }

    /// The library that decodes the format, with the name in Debian, for messages.
    public var library: String {
        switch self {
        case .brotli: "Brotli (libbrotlidec.so.1, Debian's libbrotli1)"
        case .zstd: "Zstandard (libzstd.so.1, Debian's libzstd1)"
        case .gzip, .deflate: "zlib (libz.so.1, Debian's zlib1g)"
        }
    }

    /// Whether this system has the library.
    public var isThere: Bool {
        switch self {
        case .brotli: Brotli.shared != nil
        case .zstd: Zstd.shared != nil
        case .gzip, .deflate: Zlib.shared != nil
        }
    }

    /// The value of `Accept-Encoding` that names the codings that this system can decode.
    public static let acceptEncoding = acceptEncoding(of: allCases.filter(\.isThere))

    static func acceptEncoding(of formats: [Self]) -> String {
        // Without the field, a server could use any coding (RFC 9110 §12.5.3).
        formats.isEmpty ? "identity" : formats.map(\.rawValue).joined(separator: ", ")
    }

    /// Starts the decoding of the content of one message.
    /// - Throws: ``CompressionFault/noLibrary`` if this system does not have the library.
    public func decompressor() throws(CompressionFault) -> any Decompressor {
        switch self {
        case .brotli: try BrotliDecompressor()
        case .zstd: try ZstdDecompressor()
        case .gzip, .deflate: try Inflater(self)
        }
    }
}

/// The reason why bytes could not be compressed or decoded.
public enum CompressionFault: Error, Equatable {
    /// The system has no library for the format, or an incompatible library.
    case noLibrary
    /// The bytes do not have the format, or more bytes follow the end of the content.
    case corrupt
}

/// Decodes the content of one message in steps, with little memory for any size.
///
/// Bytes after the end of the content are an error, because the content was changed. Several gzip
/// members (RFC 1952 §2.2) or several frames of Zstandard (RFC 8878 §3.1) form one content.
public protocol Decompressor: AnyObject {
    /// Decodes some bytes.
    ///
    /// If `room` is full, call the method again, even without further input, because more output
    /// may be pending.
    /// - Parameters:
    ///   - input: The bytes after the bytes that were already consumed.
    ///   - room: Receives the decoded bytes.
    /// - Returns: The numbers of consumed and produced bytes.
    /// - Throws: ``CompressionFault/corrupt`` if the bytes do not have the format.
    func inflate(
        _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(CompressionFault) -> Inflater.Step
}

/// Compresses the content of one message chunk by chunk.
public protocol Compressor: AnyObject {
    /// Compresses a chunk.
    /// - Returns: The compressed bytes that are ready, or no bytes.
    func add(_ chunk: Data) throws(CompressionFault) -> Data

    /// Ends the content and returns the last compressed bytes.
    func finish() throws(CompressionFault) -> Data
}

/// A library of the system that is loaded at run time, and not linked.
@safe struct SystemLibrary {
    private let handle: UnsafeMutableRawPointer

    init?(_ file: String) {
        guard let handle = unsafe dlopen(file, RTLD_NOW | RTLD_LOCAL) else { return nil }
        unsafe self.handle = handle
    }

    func function<Function>(_ name: String) -> Function? {
        unsafe dlsym(handle, name).map { unsafe unsafeBitCast($0, to: Function.self) }
    }
}
