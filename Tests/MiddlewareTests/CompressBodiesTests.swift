// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// What zlib's own `uncompress` makes of bytes in its framing; nil where there is no zlib.
private func inflated(_ data: Data, upTo count: Int) -> Data? {
    typealias Uncompress =
        @convention(c) (
            UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<CUnsignedLong>, UnsafePointer<UInt8>,
            CUnsignedLong
        ) -> CInt
    guard let library = unsafe dlopen("libz.so.1", RTLD_NOW),
        let symbol = unsafe dlsym(library, "uncompress")
    else { return nil }
    var output = [UInt8](repeating: 0, count: count)
    var length = CUnsignedLong(count)
    let code = unsafe unsafeBitCast(symbol, to: Uncompress.self)(
        &output, &length, Array(data), CUnsignedLong(data.count))
    return code == 0 ? Data(output[..<Int(length)]) : nil
}

private let hasZlib = unsafe dlopen("libz.so.1", RTLD_NOW) != nil

@Suite("Compressed request bodies", .needs("zlib", if: hasZlib))
struct CompressBodiesTests {
    private let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 100) })

    private func sent(
        _ body: RequestBody, _ gate: CompressBodies, headers: HTTPHeaders = [:]
    ) async throws -> (request: Request, body: Data) {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport, stack: [gate], serializers: SerializerTable())
        _ = try await client.post(anywhere, body: body, headers: headers).response()
        let sent = try #require(transport.sent.first)
        return (sent.request, sent.body)
    }

    @Test("Compressed bytes in memory have a known length")
    func data() async throws {
        let (request, body) = try await sent(.data(content, type: .json), CompressBodies(.deflate))
        #expect(request.headers[.contentEncoding] == "deflate")
        #expect(request.headers[.contentType] == "application/json")
        #expect(body.count < content.count / 10 && request.body.length == Int64(body.count))
        #expect(inflated(body, upTo: content.count) == content)
    }

    @Test("A stream is compressed while it is sent")
    func stream() async throws {
        let content = content
        let body = RequestBody.stream(replayable: true) {
            AsyncStream<Data> { continuation in
                for start in stride(from: 0, to: content.count, by: 1000) {
                    continuation.yield(content[start..<start + 1000])
                }
                continuation.finish()
            }
        }
        let (request, bytes) = try await sent(body, CompressBodies(.deflate))
        #expect(request.body.length == nil && request.body.isReplayable)
        #expect(inflated(bytes, upTo: content.count) == content)
    }

    @Test("A file, or a range of it, is compressed while it is sent, in each attempt")
    func file() async throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "turnpike-\(UUID().uuidString).txt")
        try content.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (request, bytes) = try await sent(.file(file), CompressBodies(.deflate))
        #expect(request.headers[.contentEncoding] == "deflate")
        #expect(request.body.length == nil && request.body.isReplayable)
        #expect(request.headers[.contentType] == RequestBody.file(file).contentType?.description)
        #expect(inflated(bytes, upTo: content.count) == content)
        let again = try await request.body.open().next()
        #expect(again.map { bytes.starts(with: $0) } == true)
        let part = try await sent(.file(file, range: 1000..<5000), CompressBodies(.deflate))
        #expect(inflated(part.body, upTo: 4000) == content[1000..<5000])
        let small = try await sent(.file(file, range: 0..<1000), CompressBodies(.deflate))
        #expect(small.body == content[..<1000])
    }

    @Test("A stream that can be opened once is told so, to gates inside and to a retry")
    func oneShot() async throws {
        let attempts = Mutex(0)
        let transport = MockTransport { request in
            attempts.withLock { $0 += 1 }
            #expect(!request.body.canOpenAgain)
            return .status(503)
        }
        let client = Client(
            transport: transport, stack: [Retry(attempts: 3), CompressBodies(minimum: 0)],
            serializers: SerializerTable())
        let body = RequestBody.stream(replayable: false) { AsyncStream<Data> { $0.finish() } }
        let response = try await client.put(anywhere, body: body).response()
        #expect(response.status == 503)
        #expect(attempts.withLock { $0 } == 1)
    }

    @Test("A missing file fails the call before anything is sent")
    func missingFile() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(
            transport: transport, stack: [CompressBodies()], serializers: SerializerTable())
        let file = URL(filePath: "/nowhere/\(UUID().uuidString)")
        let error = await #expect(throws: ClientError.self) {
            try await client.post(anywhere, body: .file(file)).response()
        }
        #expect(error?.code == .upload)
    }

    @Test("A body that could not be created fails the call before anything is sent")
    func fault() async throws {
        struct Bad: Error {}
        let wasAsked = Atomic(false)
        let transport = ProbeTransport { wasAsked.store(true, ordering: .relaxed) }
        let client = Client(
            transport: transport, stack: [CompressBodies()], serializers: SerializerTable())
        await #expect(throws: Bad.self) {
            try await client.post(anywhere, body: .catching { throw Bad() }).response()
        }
        let reached = wasAsked.load(ordering: .relaxed)
        #expect(!reached)
    }

    @Test(
        "Zstandard is sent from memory and from a stream, and states its memory",
        .needs("libzstd1", if: CompressionFormat.zstd.isThere))
    func zstd() async throws {
        let gate = CompressBodies(.zstd, level: 9)
        let stream = RequestBody.stream(replayable: true) { Pieces(content) }
        for body in [RequestBody.data(content), stream] {
            let (request, bytes) = try await sent(body, gate)
            #expect(request.headers[.contentEncoding] == "zstd")
            #expect(bytes.count < content.count / 10)
            // The window of its one frame is one that each recipient has room for (RFC 9659).
            let response = Response(
                head: ResponseHead(
                    status: 200, headers: ["Content-Encoding": "zstd"], url: URL(filePath: "/")),
                body: ResponseBody(bytes))
            #expect(try await response.decoded().body.collect(upTo: 1 << 20) == content)
            let facts = gate.facts(for: Request(.post, anywhere, body: body))
            let least: Int64 = 16 << 20
            #expect(
                facts?.effects.contains {
                    if case .holdsMemory(let bytes?) = $0 { bytes > least } else { false }
                } == true)
        }
    }

    @Test("gzip has its own framing: magic, checksum, size")
    func gzip() async throws {
        let (request, body) = try await sent(.data(content), CompressBodies())
        #expect(request.headers[.contentEncoding] == "gzip" && body.starts(with: [0x1F, 0x8B, 8]))
        let size = body.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        #expect(size == content.count)
    }

    @Test("Small, coded and already compressed bodies stay unchanged")
    func untouched() async throws {
        let small = try await sent(.data(Data(count: 1023)), CompressBodies())
        #expect(small.body.count == 1023 && !small.request.headers.contains(.contentEncoding))
        let coded = try await sent(
            .data(content), CompressBodies(), headers: ["Content-Encoding": "br"])
        #expect(coded.body == content && coded.request.headers[.contentEncoding] == "br")
        let image = try await sent(.data(content, type: "image/png"), CompressBodies())
        #expect(image.body == content)
    }
}

/// A transport that tells that it was asked, and answers.
private struct ProbeTransport: Transport {
    let capabilities: TransportCapabilities = []
    let onSend: @Sendable () -> Void

    init(_ onSend: @escaping @Sendable () -> Void) { self.onSend = onSend }

    func send(_ request: Request, context: Context) async throws -> Response {
        onSend()
        return Response(to: request, status: 200)
    }

    func shutdown() async {}
}
