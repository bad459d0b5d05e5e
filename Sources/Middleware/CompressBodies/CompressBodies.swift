// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Compresses request bodies and sets `Content-Encoding`.
///
/// ```swift
/// let client = Client(stack: [.retry(), .compressBodies(.gzip)])
/// ```
///
/// The compressed length of a body in memory is known before the send. The length of a file or a
/// stream is unknown, because compression happens during the send. The gate does not change a body
/// if the request already names a content coding, if the body is smaller than the minimum, or if
/// its media type is already compressed or `application/partial-upload`. The gate does not change a
/// body with trailer fields either, because the trailer fields may describe the original bytes. Use
/// this gate only for servers that accept compressed requests, because most servers do not.
///
/// The gate loads the zlib or Zstandard library of the system when the gate compresses the first
/// body. If the system has no library for the coding, the call fails with
/// ``/TurnpikeCore/ClientError/Code/unsupported`` before anything is sent.
public struct CompressBodies: SynchronousRequestAdapter {
    /// A content coding (RFC 9110 §8.4.1).
    public enum Coding: String, Sendable, CaseIterable {
        /// The coding gzip.
        case gzip
        /// The coding deflate, in the format of zlib.
        case deflate
        /// The coding zstd (RFC 8878), with a window that every recipient supports (RFC 9659).
        case zstd

        fileprivate var format: CompressionFormat {
            switch self {
            case .gzip: .gzip
            case .deflate: .deflate
            case .zstd: .zstd
            }
        }
    }

    private let coding: Coding
    private let level: Int
    private let minimum: Int64

    /// Creates the gate.
    /// - Parameters:
    ///   - coding: The content coding.
    ///   - level: The compression level, from 1 (fastest) to 9 (smallest).
    ///   - minimum: The smallest body that is compressed, in bytes.
    public init(_ coding: Coding = .gzip, level: Int = 6, minimum: Int64 = 1024) {
        self.coding = coding
        self.level = min(max(level, 1), 9)
        self.minimum = minimum
    }

    /// States the coding of the content, and the memory that compressing needs.
    public func facts(for request: Request?) -> GateFacts? {
        var facts = GateFacts(
            "compresses content with \(coding.rawValue)", .changesContent,
            .setsFields([.contentEncoding], .plain))
        guard let request else {
            facts.effects.append(.holdsMemory(atMost: nil))
            return facts
        }
        facts.passedOver = obstacle(to: request)
        // Zstandard needs 17 MiB of memory at level 9. The memory of zlib is negligible.
        let own: Int64 = coding == .zstd ? 17 << 20 : 0
        // Incompressible content grows by at most this number of bytes when compressed; see zlib's
        // deflateBound() and ZSTD_compressBound().
        if let count = (request.body.inMemory?.count).map(Int64.init) {
            let extra = count / (coding == .zstd ? 256 : 1000) + 1024
            facts.effects.append(.holdsMemory(atMost: count + extra + own))
        } else {
            facts.effects.append(.holdsMemory(atMost: (1 << 20) + own))
        }
        return facts
    }

    private func obstacle(to request: Request) -> String? {
        let body = request.body
        if body.isEmpty { return "the request has no content" }
        if body.hasTrailers { return "trailer fields may describe the content" }
        if body.length ?? .max < minimum { return "the content is smaller than \(minimum) bytes" }
        if request.headers.contains(.contentEncoding) { return "the content is encoded" }
        return Self.isCompressed(request) ? "the content is compressed" : nil
    }

    /// Compresses the body of a request.
    public func adapt(_ request: inout Request, context: Context) throws {
        let body = request.body
        // A body with an error is not compressed, because the call must fail with this error.
        guard !body.isEmpty, !body.hasTrailers, body.fault == nil, body.length ?? .max >= minimum,
            !request.headers.contains(.contentEncoding), !Self.isCompressed(request)
        else { return }
        let type = body.contentType
        if let data = body.inMemory {
            request.body = .data(
                try explained {
                    let compressor = try compressor()
                    return try compressor.add(data) + compressor.finish()
                }, type: type)
        } else {
            // If the library is missing, the call must fail before the send.
            _ = try compressor()
            request.body = .stream(
                replayable: body.canOpenAgain, live: body.isLive, type: type
            ) { CompressedChunks(body: body, gate: self) }
        }
        request.headers[.contentEncoding] = coding.rawValue
    }

    fileprivate func compressor() throws -> any Compressor {
        try explained {
            if coding == .zstd { return try ZstdCompressor(level: level) }
            return try Deflater(coding.format, level: level)
        }
    }

    fileprivate func explained<Value>(_ work: () throws -> Value) throws -> Value {
        do {
            return try work()
        } catch CompressionFault.noLibrary {
            throw ClientError(
                .unsupported,
                "this system has no \(coding.format.library) that can compress a request body")
        } catch CompressionFault.corrupt {
            throw ClientError(.upload, "the request body cannot be compressed")
        }
    }

    // A resumable upload counts its offset in bytes of the file, not in encoded bytes.
    private static let uploadParts = ["partial-upload", "offset+octet-stream"]

    private static func isCompressed(_ request: Request) -> Bool {
        let type =
            request.headers[.contentType].flatMap { MediaType(parsing: $0) }
            ?? request.body.contentType
        guard let type else { return false }
        switch type.type {
        case "image": return type.subtype != "svg+xml" && type.subtype != "bmp"
        case "video", "audio": return true
        default:
            return ["zip", "gzip", "zstd", "x-7z-compressed", "x-bzip2", "x-xz", "vnd.rar"]
                .contains(type.subtype) || Self.uploadParts.contains(type.subtype)
        }
    }
}

extension Gate where Self == CompressBodies {
    /// Compresses request bodies; see ``CompressBodies/init(_:level:minimum:)``.
    public static func compressBodies(_ coding: CompressBodies.Coding = .gzip) -> Self {
        CompressBodies(coding)
    }
}

private struct CompressedChunks: AsyncSequence, Sendable {
    typealias Element = Data

    let body: RequestBody
    let gate: CompressBodies

    struct AsyncIterator: AsyncIteratorProtocol {
        let chunks: CompressedChunks
        var reader: RequestBodyReader?
        var compressor: (any Compressor)?
        var hasEnded = false

        mutating func next() async throws -> Data? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
            if hasEnded { return nil }
            if reader == nil {
                compressor = try chunks.gate.compressor()
                reader = try chunks.body.open()
            }
            while let chunk = try await reader?.next(isolation: actor) {
                let data = try chunks.gate.explained { try compressor?.add(chunk) }
                if let data, !data.isEmpty { return data }
            }
            hasEnded = true
            return try chunks.gate.explained { try compressor?.finish() }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: self) }
}
