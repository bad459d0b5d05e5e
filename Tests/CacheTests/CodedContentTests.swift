// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Stored content in a coding")
struct CodedContentTests {
    /// Asks for codings and decodes, as a transport does, unless the request names codings.
    private struct Decoding: Interceptor {
        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            if request.headers.contains(.acceptEncoding) { return try await next(request) }
            var asking = request
            asking.headers[.acceptEncoding] = CompressionFormat.acceptEncoding
            return try await next(asking).decoded()
        }
    }

    @Test(
        "Content that the transport decodes is stored decoded, whatever Vary names",
        arguments: CompressionFormat.written)
    func variants(format: CompressionFormat) async throws {
        let coded = try format.coded(Data("hello".utf8))
        let cached = CachedClient(inside: [Decoding()]) { request in
            let accepted = request.headers[.acceptEncoding] ?? ""
            let isCoded = accepted.split(separator: ", ").contains { $0 == format.rawValue }
            var headers: HTTPHeaders = [
                "Cache-Control": "max-age=60", "Vary": "Accept-Encoding",
            ]
            if isCoded { headers[.contentEncoding] = format.rawValue }
            return .status(200, headers: headers, body: isCoded ? coded : Data("plain".utf8))
        }
        for _ in 0..<2 {
            let answer = try await cached.get("/a")
            #expect(answer.text == "hello" && !answer.headers.contains(.contentEncoding))
        }
        #expect(cached.sent == 1)
        // Who names codings gets another variant: the bytes as they come.
        let plain = try await cached.get("/a", ["Accept-Encoding": "identity"])
        #expect(plain.text == "plain")
        #expect(try await cached.get("/a").text == "hello")
        #expect(cached.sent == 2)
    }

    @Test("Content that ends before its coding is not stored", arguments: CompressionFormat.written)
    func cut(format: CompressionFormat) async throws {
        let coded = try format.coded(Data("hello".utf8))
        let cached = CachedClient(inside: [Decoding()]) { _ in
            .status(
                200,
                headers: [
                    "Cache-Control": "max-age=60", "Content-Encoding": format.rawValue,
                ], body: coded.dropLast())
        }
        for sent in 1...2 {
            await expectError(.decompression) { try await cached.get("/a") }
            #expect(cached.sent == sent)
        }
    }
}
