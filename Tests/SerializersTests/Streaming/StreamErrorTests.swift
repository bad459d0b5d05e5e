// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

/// What errors of streams tell of the exchange that they come from.
@Suite("Errors of streams")
struct StreamErrorTests {
    private struct Point: Decodable {
        let x: Int
    }

    enum Stream: String, CaseIterable {
        case lines, jsonLines, typedLines, events, parts, body

        var contentType: String {
            switch self {
            case .events: "text/event-stream"
            case .parts: "multipart/mixed; boundary=b"
            default: "application/x-ndjson"
            }
        }

        /// What comes before it breaks off.
        var beginning: String {
            switch self {
            case .parts: "--b\r\n"
            case .typedLines: "{\"x\":1}\n"
            default: "1\n"
            }
        }

        /// What cannot be read.
        var nonsense: String {
            switch self {
            case .parts: "--b\r\n: \r\n\r\nx\r\n--b"
            case .events, .body: ""
            case .lines: "\u{0}"
            default: "{]\n"
            }
        }

        func read(_ call: Call) async throws {
            switch self {
            case .lines: for try await _ in call.lines() {}
            case .jsonLines: for try await _ in call.jsonLines() {}
            case .typedLines: for try await _ in call.jsonLines(of: Point.self) {}
            case .events: for try await _ in call.events(reconnects: 0) {}
            case .parts: for try await _ in call.parts() {}
            case .body: for try await _ in try await call.response().body {}
            }
        }
    }

    private func error(
        of stream: Stream, _ answer: @escaping @Sendable (Request) -> MockResponse,
        _ gates: any Gate...
    ) async -> ClientError? {
        let client = Client(
            transport: MockTransport(answer), stack: Stack(gates), serializers: .standard)
        let call = client.get("http://a.example/feed?token=secret", headers: ["X-Mine": "1"])
        return await #expect(throws: ClientError.self) { try await stream.read(call) }
    }

    private func check(_ error: ClientError?, _ stream: Stream, _ code: ClientError.Code) {
        #expect(error?.code == code, "\(stream): \(String(describing: error))")
        #expect(error?.request?.headers["X-Mine"] == "1", "\(stream)")
        #expect(error?.request?.url.contains("secret") == false)
        #expect(
            error?.response?.status == 200 && error?.response?.headers["X-Yours"] == "2",
            "\(stream)")
        #expect(error?.attempts == 1, "\(stream)")
    }

    private func headers(_ stream: Stream) -> HTTPHeaders {
        ["Content-Type": stream.contentType, "X-Yours": "2"]
    }

    @Test(
        "A stream that breaks off names the request as sent, and the response",
        arguments: Stream.allCases)
    func broken(stream: Stream) async {
        let headers = headers(stream)
        let error = await error(of: stream) { _ in
            .stream(
                [Data(stream.beginning.utf8)], status: 200, headers: headers,
                thenThrow: ClientError(.incomplete, "cut"))
        }
        check(error, stream, .incomplete)
    }

    @Test(
        "An item that cannot be read names both",
        arguments: [Stream.jsonLines, .typedLines, .parts])
    func unreadable(stream: Stream) async {
        let headers = headers(stream)
        let error = await error(of: stream) { _ in
            .status(200, headers: headers, body: Data(stream.nonsense.utf8))
        }
        check(error, stream, stream == .parts ? error?.code ?? .protocol : .serialization)
    }

    @Test("A line that is not UTF-8 names both")
    func invalidText() async {
        let headers = headers(.lines)
        let error = await error(of: .lines) { _ in
            .status(200, headers: headers, body: Data([0x61, 0xFF, 0x0A]))
        }
        check(error, .lines, .serialization)
    }

    @Test(
        "An item above its limit names both",
        arguments: [Stream.lines, .jsonLines, .events, .parts])
    func tooLarge(stream: Stream) async {
        struct Short: Interceptor {
            func intercept(
                _ request: Request, context: Context, next: Next
            ) async throws -> Response {
                context[LineLimit.self] = 50
                return try await next(request)
            }
        }
        let headers = headers(stream)
        let start = stream == .parts ? "--b\r\n\r\n" : "data: "
        let text = start + String(repeating: "x", count: 10_000) + "\r\n--b--"
        let error = await error(
            of: stream, { _ in .status(200, headers: headers, body: Data(text.utf8)) }, Short())
        check(error, stream, .tooLarge)
    }

    @Test("The error of a refused event stream has the server's Retry-After")
    func refused() async {
        let error = await error(of: .events) { _ in
            .status(503, headers: ["Retry-After": "9", "Content-Type": "text/event-stream"])
        }
        #expect(error?.code == .validation && error?.response?.status == 503)
        #expect(error?.retryAfter == .seconds(9) && error?.request?.method == .get)
    }
}
