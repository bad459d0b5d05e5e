// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// A body that came within the limits of its call is read after them.
@Suite("Time limits and bodies that are read late")
struct LateReadingTests {
    enum Road: CaseIterable { case urlsession, curl, mock }
    enum Content: CaseIterable { case whole, dripped, gzip, spilled, decoded }
    enum Limit: CaseIterable {
        case deadline, attemptTimeout, idleTimeout, standard

        var stack: Stack {
            switch self {
            case .deadline: [.deadline(.seconds(2))]
            case .attemptTimeout: [.attemptTimeout(.seconds(2))]
            case .idleTimeout: [.idleTimeout(.seconds(2), minBytesPerSecond: 1_000_000)]
            case .standard: .standard
            }
        }

        /// Whether it covers the body, and not only the waits of a reader.
        var coversBody: Bool { self == .deadline || self == .standard }
    }

    /// Decodes what it gets only when it is asked for it.
    private struct Decoder: Interceptor {
        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            var response = try await next(request)
            response.body = response.body.transforming { Data($0.map { $0 ^ 0xFF }) }
            return response
        }
    }

    private static let large = Data(count: 8 << 20)
    // Bytes that take a fifth of their number in gzip.
    private static let repetitive: Data = {
        var generator = SeededGenerator(seed: 7)
        return Data(
            (0..<16384).flatMap { _ in
                Array(repeating: UInt8.random(in: .min ... .max, using: &generator), count: 16)
            })
    }()

    private static func gzip(_ content: Data) async throws -> Data {
        let mock = MockTransport { _ in .ok() }
        let client = Client(transport: mock, stack: [.compressBodies()])
        try await client.post("http://a.example/", body: .data(content)).empty()
        return try #require(mock.sent.first).body
    }

    private let server: TestServer
    private let clock = ManualClock()

    init() throws { server = try TestServer() }

    private func transport(_ road: Road, _ content: Content) async throws -> any Transport {
        let coded = try await Self.gzip(Self.repetitive)
        let coding: HTTPHeaders = ["Content-Encoding": "gzip"]
        let text = Data("in five pieces".utf8)
        switch content {
        case .whole: server.route("/", .ok(data: text))
        case .dripped: server.route("/", .drip(text, bytes: 3, every: .milliseconds(1)))
        case .gzip, .decoded: server.route("/", .ok(data: coded, headers: coding))
        case .spilled: server.route("/", .ok(data: Self.large))
        }
        switch road {
        case .urlsession: return URLSessionTransport()
        case .curl: return try CurlTransport()
        case .mock:
            switch content {
            case .whole: return MockTransport { _ in .status(.ok, body: text) }
            case .gzip: return MockTransport { _ in .status(.ok, headers: coding, body: coded) }
            case .dripped:
                return DripTransport(
                    [text.prefix(5), text.dropFirst(5)], every: .milliseconds(20))
            case .spilled:
                return DripTransport([Self.large.prefix(1 << 20), Self.large.dropFirst(1 << 20)])
            case .decoded:
                return DripTransport([Self.repetitive.prefix(10), Self.repetitive.dropFirst(10)])
            }
        }
    }

    private func expected(_ road: Road, _ content: Content) async throws -> Data {
        switch content {
        case .whole, .dripped: return Data("in five pieces".utf8)
        case .gzip: return try await road == .mock ? Self.gzip(Self.repetitive) : Self.repetitive
        case .spilled: return Self.large
        case .decoded: return Data(Self.repetitive.map { $0 ^ 0xFF })
        }
    }

    @Test("What came in time is read at any time", arguments: Road.allCases, Content.allCases)
    func late(road: Road, content: Content) async throws {
        // libcurl holds the server back: this much never comes unread.
        let isHeldBack = road == .curl && content == .spilled
        let transport = try await transport(road, content)
        let expected = try await expected(road, content)
        for limit in Limit.allCases {
            let stack = content == .decoded ? limit.stack + [Decoder()] : limit.stack
            let client = Client(
                baseURL: server.target, transport: transport, stack: stack, timeSource: clock)
            let body = try await client.get("/").response().body
            clock.advance(by: .milliseconds(200))
            if isHeldBack {
                #expect(body.arrival == .underWay)
            } else {
                try await until("the content, with \(limit)") { body.arrival != .underWay }
                #expect(body.arrival == .complete)
            }
            clock.advance(by: .seconds(40))
            if isHeldBack, limit.coversBody {
                let error = await #expect(throws: ClientError.self) {
                    try await body.collect(upTo: 16 << 20)
                }
                #expect(error?.code == .deadlineExceeded)
            } else {
                let read = try await body.collect(upTo: 16 << 20)
                #expect(read == expected, "\(limit)")
            }
            // The thread of a transport that gives the last byte removes the timer behind it.
            try await until("no timer, with \(limit)") { clock.timerCount == 0 }
        }
        await transport.shutdown()
    }
}
