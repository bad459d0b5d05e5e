// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

extension Response {
    /// Returns the response with decoded content, and without the fields about the coding.
    ///
    /// The codings are Brotli, Zstandard, gzip and deflate (RFC 9110 §8.4.1). A transport uses this
    /// method if the transport requests the codings that this system can decode
    /// (`CompressionFormat.acceptEncoding`), and if the transport's library does not decode. The
    /// body is decoded in bounded pieces during the read, and a small response therefore cannot
    /// exhaust memory. ``ResponseBody/encodedBytes`` counts the bytes before decoding
    /// (``TransportCapabilities/encodedSizes``).
    /// - Returns: A response with decoded content, whose body reads the body of this response. A
    ///   response without a coding is returned unchanged.
    /// - Throws: ``ClientError/Code/decompression`` if a coding cannot be decoded, after cancelling
    ///   the body. If the content is corrupt, the reader of the body gets an error with this code.
    public func decoded() throws -> Response { try decoded { try $0.decompressor() } }

    func decoded(
        by decompressor: (CompressionFormat) throws -> any Decompressor
    ) throws -> Response {
        guard let field = headers[.contentEncoding] else { return self }
        let codings = field.split(separator: ",").map { Grammar.trimmed($0).lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        if codings.isEmpty || body.isEmpty { return self }
        do {
            guard codings.count <= 5 else {
                throw ContentDecoder.fault("the content has \(codings.count) codings, more than 5")
            }
            // The last coding in `Content-Encoding` was applied last.
            let source = DecodedSource(
                body, try codings.reversed().map { try ContentDecoder(coding: $0, decompressor) },
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

    // If false, the end of the connection ends the content, and empty content may be truncated.
    private var hasContentWithEnd: Bool {
        headers.contains(.transferEncoding) || head.version.map { $0 >= "2" } ?? false
    }
}

// SAFETY: one reader at a time uses the decoder, through the decoder's source.
private final class ContentDecoder: @unchecked Sendable {
    private let decompressor: any Decompressor
    private var input = Data()
    private var position = 0
    private var hasEnded = false
    private var mayHaveOutput = false

    static let pieceBytes = 65_536

    init(coding: String, _ decompressor: (CompressionFormat) throws -> any Decompressor) throws {
        guard let format = CompressionFormat(coding: coding) else {
            throw Self.fault(
                "the request did not ask for the content coding \(Grammar.escaped(coding)); to get"
                    + " the encoded bytes, set Accept-Encoding")
        }
        // A server may apply a coding that the request did not ask for.
        guard let decompressor = try? decompressor(format) else {
            throw Self.fault(
                "the response's content is coded (\(coding)), but \(format.library) is not installed"
                    + " to decode it; to get the encoded bytes, set Accept-Encoding")
        }
        self.decompressor = decompressor
    }

    static func fault(_ message: String) -> ClientError {
        ClientError(.decompression, message, transfer: TransferState(.receiving))
    }

    var isPending: Bool { position < input.count || mayHaveOutput }

    func add(_ chunk: Data) {
        input = chunk
        position = 0
    }

    /// Returns at most ``pieceBytes`` decoded bytes, or empty data if the decoder needs more input.
    func next() throws -> Data {
        // This memory is not zeroed, because zeroing would add a thirtieth to the time of decoding.
        let room = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.pieceBytes, alignment: 16)
        let step: Inflater.Step
        do {
            step = try unsafe input.withUnsafeBytes { input in
                try unsafe decompressor.inflate(
                    UnsafeRawBufferPointer(rebasing: input[position...]), into: room)
            }
        } catch {
            unsafe room.deallocate()
            throw Self.fault(
                "the response's content coding is broken, or more bytes follow the content")
        }
        hasEnded = step.hasEnded
        position += step.consumed
        mayHaveOutput = step.produced == Self.pieceBytes
        // A small piece must not keep the memory of a large piece alive.
        if step.produced < Self.pieceBytes / 4 {
            defer { unsafe room.deallocate() }
            return unsafe Data(room.prefix(step.produced))
        }
        // SAFETY: the memory was allocated above and is not empty.
        let start = unsafe room.baseAddress.unsafelyUnwrapped
        return unsafe Data(
            bytesNoCopy: start, count: step.produced,
            deallocator: .custom { bytes, _ in unsafe bytes.deallocate() })
    }

    func finish() throws {
        if !hasEnded { throw Self.fault("the response's coded content ends early") }
    }
}

// SAFETY: a body has one reader, which reads one chunk at a time; `cancel` uses only the body.
private final class DecodedSource: ResponseBodySource, @unchecked Sendable {
    private let body: ResponseBody
    private let decoders: [ContentDecoder]
    // A server that encodes during the send may send no bytes for empty content.
    private var mayBeEmpty: Bool
    private var iterator: ResponseBody.AsyncIterator
    private let taken = Atomic<Int64>(0)
    // The bytes that a decoder passed to the next decoder.
    private var passed: Int64 = 0
    private let isCancelled = Atomic(false)

    init(_ body: ResponseBody, _ decoders: [ContentDecoder], mayBeEmpty: Bool) {
        self.body = body
        self.mayBeEmpty = mayBeEmpty
        self.decoders = decoders
        iterator = body.makeAsyncIterator()
    }

    func next() async throws -> Data? {
        while true {
            // The last decoder with output is used first, which keeps the buffered output small.
            if let index = decoders.lastIndex(where: \.isPending) {
                let piece = try decode(with: decoders[index])
                if piece.isEmpty { continue }
                if index == decoders.count - 1 { return piece }
                passed += Int64(piece.count)
                decoders[index + 1].add(piece)
                continue
            }
            guard let chunk = try await iterator.next() else {
                if !mayBeEmpty { for decoder in decoders { try decoder.finish() } }
                return nil
            }
            mayBeEmpty = false
            taken.add(Int64(chunk.count), ordering: .relaxed)
            decoders[0].add(chunk)
        }
    }

    private func decode(with decoder: ContentDecoder) throws -> Data {
        // Without output, the reader gets no chunk and cannot check for a cancellation.
        if Task.isCancelled { cancel(.task) }
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
        do {
            // The ratios of nested codings multiply, and limits on the output have no effect if the
            // last decoder has no output. The factor is the default of ``Limits``.
            if passed > max(1 << 20, 100 * taken.load(ordering: .relaxed)) {
                throw ContentDecoder.fault(
                    "the response's nested content codings grow to more than 100 times the bytes"
                        + " that arrived")
            }
            return try decoder.next()
        } catch {
            body.cancel(.failed(error))
            throw error
        }
    }

    func cancel(_ reason: CancelReason) {
        isCancelled.store(true, ordering: .relaxed)
        body.cancel(reason)
    }

    var arrival: ResponseBodyArrival { body.arrival }

    var trailers: HTTPHeaders { body.trailers }

    var encodedBytes: Int64? { taken.load(ordering: .relaxed) }
}
