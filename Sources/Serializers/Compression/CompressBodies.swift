import Foundation
public import TurnpikeCore

/// Compresses request bodies and says so in `Content-Encoding`.
///
/// ```swift
/// let client = Client(stack: [.retry(), .compressBodies(.gzip)])
/// ```
///
/// Bytes in memory keep a known length; files and streams are compressed while they are sent, in
/// little memory and with a length that nobody knows in advance. A body stays as it is where the
/// request names a coding of its own, where it is smaller than the minimum, where its media type
/// says that it is compressed already, and where trailers follow, which may speak of its bytes. Send this to servers alone that are known to accept
/// it: most do not.
///
/// The system's zlib does the work. Where there is none, the call fails as
/// ``/TurnpikeCore/ClientError/Code/unsupported`` before anything is sent.
public struct CompressBodies: SynchronousRequestAdapter {
    /// A content coding (RFC 9110 §8.4.1).
    public enum Coding: String, Sendable, CaseIterable {
        /// gzip
        case gzip
        /// Deflate in zlib's framing.
        case deflate

        var windowBits: CInt { self == .gzip ? 31 : 15 }
    }

    private let coding: Coding
    private let level: Int
    private let minimum: Int64

    /// Creates the gate.
    /// - Parameters:
    ///   - coding: The coding.
    ///   - level: From 1, fast, to 9, small.
    ///   - minimum: The smallest body that is compressed, in bytes.
    public init(_ coding: Coding = .gzip, level: Int = 6, minimum: Int64 = 1024) {
        self.coding = coding
        self.level = min(max(level, 1), 9)
        self.minimum = minimum
    }

    /// Compresses the body of a request.
    public func adapt(_ request: inout Request, context: Context) throws {
        let body = request.body
        // One that could not be made is told before anything is sent, as it stands.
        guard !body.isEmpty, !body.hasTrailers, body.fault == nil, body.length ?? .max >= minimum,
            !request.headers.contains(.contentEncoding), !Self.isCompressed(request)
        else { return }
        let type = body.contentType
        if let data = body.inMemory {
            let compressor = try Compressor(coding, level: level)
            request.body = .data(try compressor.add(data) + compressor.finish(), type: type)
        } else {
            // Asked for now, so that a missing library fails the call before it is sent.
            _ = try Compressor(coding, level: level)
            request.body = .stream(
                replayable: body.isReplayable, live: body.isLive, type: type
            ) { [coding, level] in CompressedChunks(body: body, coding: coding, level: level) }
        }
        request.headers[.contentEncoding] = coding.rawValue
    }

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
                .contains(type.subtype)
        }
    }
}

extension Gate where Self == CompressBodies {
    /// Compresses request bodies; see ``CompressBodies/init(_:level:minimum:)``.
    public static func compressBodies(_ coding: CompressBodies.Coding = .gzip) -> Self {
        CompressBodies(coding)
    }
}

/// The chunks of a body, compressed.
private struct CompressedChunks: AsyncSequence, Sendable {
    typealias Element = Data

    let body: Body
    let coding: CompressBodies.Coding
    let level: Int

    struct AsyncIterator: AsyncIteratorProtocol {
        let chunks: CompressedChunks
        var reader: BodyReader?
        var compressor: Compressor?
        var hasEnded = false

        mutating func next() async throws -> Data? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
            if hasEnded { return nil }
            if reader == nil {
                compressor = try Compressor(chunks.coding, level: chunks.level)
                reader = try chunks.body.open()
            }
            while let chunk = try await reader?.next(isolation: actor) {
                if let data = try compressor?.add(chunk), !data.isEmpty { return data }
            }
            hasEnded = true
            return try compressor?.finish()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: self) }
}
