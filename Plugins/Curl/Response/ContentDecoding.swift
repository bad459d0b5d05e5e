import CTurnpikeCurl
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension Response {
    /// The response with its content decoded, and without the fields that told of the coding.
    ///
    /// Decoding happens as the body is read, a bounded piece at a time, so that a small response
    /// cannot become a large one that nobody asked for.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/decompression`` for a coding that was not asked
    ///   for.
    func decoded() throws -> Response {
        guard let field = headers[.contentEncoding] else { return self }
        let codings = field.split(separator: ",").map { Grammar.trimmed($0).lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        if codings.isEmpty || body.isEmpty { return self }
        do {
            guard codings.count <= 5 else {
                throw Inflater.fault("the response's content is coded \(codings.count) times")
            }
            // The last one was applied last.
            let source = DecodedSource(
                body, try codings.reversed().map(Inflater.init(coding:)),
                mayBeEmpty: hasContentWithEnd)
            var result = self
            var headers = headers
            headers.remove(.contentEncoding)
            headers.remove(.contentLength)
            result.head = ResponseHead(
                status: status, headers: headers, url: url, version: head.version)
            result.body = ResponseBody(source: source, encodedLength: body.encodedLength)
            return result
        } catch {
            body.cancel(.failed(error))
            throw error
        }
    }

    // Nothing where only the connection's end tells of the content's may be a cut.
    private var hasContentWithEnd: Bool {
        headers.contains(.transferEncoding) || head.version?.hasPrefix("2") == true
    }
}

/// The library that decodes, which is found at run time like libcurl.
enum Zlib {
    /// Whether it is there; it is looked for once.
    static let isLoaded = tpc_zlib_load()
}

/// A content coding's decoder.
// SAFETY: it is used by one reader at a time, behind the lock of its source.
@safe private final class Inflater: @unchecked Sendable {
    private let pointer: OpaquePointer
    private var input = Data()
    private var position = 0
    private var hasEnded = false
    private var hasOutput = false

    static let pieceBytes = 65_536

    init(coding: String) throws {
        let isGzip = coding == "gzip" || coding == "x-gzip"
        guard isGzip || coding == "deflate" else {
            throw Self.fault(
                "the response's content coding \(Grammar.escaped(coding)) was not asked for; to get the bytes"
                    + " as they come, set Accept-Encoding")
        }
        // A server may code what nobody has asked for.
        guard Zlib.isLoaded else {
            throw Self.fault(
                "the response's content is coded (\(coding)), and zlib (libz.so.1), which decodes it, is not"
                    + " installed; to get the bytes as they come, set Accept-Encoding")
        }
        guard let pointer = unsafe tpc_inflater_create(isGzip) else {
            throw Self.fault("there is no memory to decode the response")
        }
        unsafe self.pointer = pointer
    }

    deinit { unsafe tpc_inflater_free(pointer) }

    static func fault(_ message: String) -> ClientError {
        ClientError(.decompression, message, transfer: TransferState(.receiving))
    }

    /// Whether ``next()`` may give something without more input.
    var mayGive: Bool { position < input.count || hasOutput }

    func add(_ chunk: Data) {
        input = chunk
        position = 0
    }

    /// The next decoded bytes, or empty data where more input is needed.
    func next() throws -> Data {
        var output = Data(count: Self.pieceBytes)
        var consumed = 0
        var produced = 0
        let status = unsafe input.withUnsafeBytes { input in
            unsafe output.withUnsafeMutableBytes { output in
                unsafe tpc_inflater_run(
                    pointer,
                    input.baseAddress?.advanced(by: position).assumingMemoryBound(to: UInt8.self),
                    input.count - position, &consumed,
                    output.baseAddress?.assumingMemoryBound(to: UInt8.self), output.count, &produced
                )
            }
        }
        if Int(status) == TPC_INFLATE_CORRUPT {
            throw Self.fault("the response's content coding is broken")
        }
        hasEnded = Int(status) == TPC_INFLATE_ENDED
        position += consumed
        hasOutput = produced == Self.pieceBytes
        return output.prefix(produced)
    }

    /// Checks that the coded content was whole.
    func finish() throws {
        if !hasEnded { throw Self.fault("the response's coded content ends early") }
    }
}

/// The content of another body, decoded as it is read.
// SAFETY: a body has one reader, which asks for one chunk at a time; `cancel` uses the body alone.
private final class DecodedSource: ResponseBodySource, @unchecked Sendable {
    private let body: ResponseBody
    private let inflaters: [Inflater]
    // Servers that code as they go code nothing at all as nothing.
    private var mayBeEmpty: Bool
    private var iterator: ResponseBody.AsyncIterator
    private let taken = Atomic<Int64>(0)

    init(_ body: ResponseBody, _ inflaters: [Inflater], mayBeEmpty: Bool) {
        self.body = body
        self.mayBeEmpty = mayBeEmpty
        self.inflaters = inflaters
        iterator = body.makeAsyncIterator()
    }

    func next() async throws -> Data? {
        while true {
            // The innermost decoder that has something to give feeds the next one.
            if let index = inflaters.lastIndex(where: \.mayGive) {
                let piece = try decode(with: inflaters[index])
                if piece.isEmpty { continue }
                if index == inflaters.count - 1 { return piece }
                inflaters[index + 1].add(piece)
                continue
            }
            guard let chunk = try await iterator.next() else {
                if !mayBeEmpty { for inflater in inflaters { try inflater.finish() } }
                return nil
            }
            mayBeEmpty = false
            taken.add(Int64(chunk.count), ordering: .relaxed)
            inflaters[0].add(chunk)
        }
    }

    private func decode(with inflater: Inflater) throws -> Data {
        do {
            return try inflater.next()
        } catch {
            body.cancel(.failed(error))
            throw error
        }
    }

    func cancel(_ reason: CancelReason) { body.cancel(reason) }

    var arrival: ResponseBodyArrival { body.arrival }

    var trailers: HTTPHeaders { body.trailers }

    var encodedBytes: Int64? { taken.load(ordering: .relaxed) }
}
