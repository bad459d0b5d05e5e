// SPDX-License-Identifier: Apache-2.0
import Configuration
import Foundation
import Hummingbird
import Logging
import Metrics
import NIOCore

/// One of the servers that the service calls.
///
/// Because of it, the example needs no network.
///
/// It behaves like the servers of others. Some answers are 503, some are late, some break off, and
/// some never come. A token is valid for a few seconds. The configuration sets the shares of these
/// faults, and SIGHUP changes them while the server runs.
struct Upstream: Sendable {
    let config: ConfigReader
    let path: RouterPath
    let content: String

    /// Serves until the task is cancelled.
    ///
    /// Reports the URL when the server listens.
    func run(_ didStart: @escaping @Sendable (URL) -> Void) async throws {
        let router = Router()
        // The server's part of the trace: its span becomes a child of the attempt's span.
        router.add(middleware: TracingMiddleware())
        router.post("/token") { _, _ in
            // A real issuer signs its tokens. The tokens here contain only the time of their end.
            let token = #""access_token": "\#(Self.now + 5)", "token_type": "Bearer""#
            return Self.json("{\(token), \"expires_in\": 5}")
        }
        router.get(path) { request, _ in
            Counter(label: "upstream.requests").increment()
            let token = request.headers[.authorization]?.split(separator: " ").last
            guard let end = token.flatMap({ Int($0) }), end >= Self.now else {
                throw HTTPError(.unauthorized, headers: [.wwwAuthenticate: "Bearer"])
            }
            return try await answer()
        }
        var logger = Logger(label: "upstream")
        logger.logLevel = .critical
        try await Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { didStart($0.loopback) }, logger: logger
        ).run()
    }

    private func answer() async throws -> Response {
        var luck = Double.random(in: 0..<1)
        func happens(_ fault: String) -> Bool {
            luck -= config.double(forKey: ConfigKey(["upstreams", fault]), default: 0)
            return luck < 0
        }
        if happens("failing") {
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "0"])
        }
        if happens("hanging") { try await Task.sleep(for: .seconds(60)) }
        if happens("slow") { try await Task.sleep(for: .milliseconds(300)) }
        if !happens("torn") { return Self.json(content) }
        let torn = ResponseBody(contentLength: content.utf8.count) { writer in
            try await writer.write(ByteBuffer(string: String(content.prefix(5))))
            throw CancellationError()
        }
        return Response(status: .ok, headers: [.contentType: "application/json"], body: torn)
    }

    private static func json(_ text: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "max-age=2"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private static var now: Int { Int(Date().timeIntervalSince1970) }
}

extension Channel {
    /// The URL of a server on loopback, whose port the system may have chosen.
    var loopback: URL {
        URL(string: "http://127.0.0.1:\(localAddress?.port ?? 0)/") ?? URL(filePath: "/")
    }
}

/// Runs both upstreams while `body` runs, and passes their URLs to it.
func withUpstreams(
    _ config: ConfigReader, _ body: @Sendable (_ weather: URL, _ places: URL) async throws -> Void
) async throws {
    let upstreams = [
        Upstream(config: config, path: "/weather/:city", content: #"{"celsius": 21}"#),
        Upstream(config: config, path: "/places/:city", content: #"{"inhabitants": 2005760}"#),
    ]
    try await withThrowingTaskGroup { group in
        var urls: [URL] = []
        for upstream in upstreams {
            let (started, continuation) = AsyncStream<URL>.makeStream()
            group.addTask {
                // If an upstream cannot start, its URL is not awaited.
                defer { continuation.finish() }
                try await upstream.run { continuation.yield($0) }
            }
            if let url = await started.first(where: { _ in true }) { urls.append(url) }
        }
        if urls.count == 2 { try await body(urls[0], urls[1]) }
        group.cancelAll()
        while let result = await group.nextResult() {
            if case .failure(let error) = result, !(error is CancellationError) { throw error }
        }
    }
}
