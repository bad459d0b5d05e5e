import Configuration
import Foundation
import Hummingbird
import Metrics
import NIOCore

/// The two servers that the service asks: here only so that the example needs no network.
///
/// They behave as others' servers do. Some answers are 503, some are late, some break off in the
/// middle, some do not come at all, and a token is good for a few seconds. How many, the
/// configuration says, and SIGHUP changes it while they run.
struct Upstream: Sendable {
    let config: ConfigReader
    let path: RouterPath
    let freshness: Int
    let content: @Sendable (String) -> String

    static func weather(_ config: ConfigReader) -> Upstream {
        Upstream(config: config, path: "/weather/:city", freshness: 2) {
            #"{"celsius": \#($0.utf8.reduce(0) { $0 + Int($1) } % 40)}"#
        }
    }

    static func places(_ config: ConfigReader) -> Upstream {
        Upstream(config: config, path: "/places/:city", freshness: 30) {
            #"{"inhabitants": \#($0.utf8.reduce(7) { ($0 * 31 + Int($1)) % 9_000_000 })}"#
        }
    }

    /// Serves until the task is cancelled, and tells the URL once it listens.
    func run(_ didStart: @escaping @Sendable (URL) -> Void) async throws {
        let router = Router()
        // The server's side of the trace: its span becomes a child of the attempt's span.
        router.add(middleware: TracingMiddleware())
        router.post("/token") { _, _ in
            // Whoever believes its own tokens signs them; these only say when they end.
            Self.json(
                #"{"access_token": "\#(Self.now + 5)", "token_type": "Bearer", "expires_in": 5}"#)
        }
        router.get(path) { request, context in
            Counter(label: "upstream.requests").increment()
            let token = request.headers[.authorization]?.split(separator: " ").last
            guard let end = token.flatMap({ Int($0) }), end >= Self.now else {
                throw HTTPError(.unauthorized, headers: [.wwwAuthenticate: "Bearer"])
            }
            return try await misbehave(content(context.parameters.require("city")))
        }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in didStart(channel.loopback) })
        try await application.run()
    }

    private func misbehave(_ content: String) async throws -> Response {
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
        if happens("torn") {
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(contentLength: content.utf8.count) { writer in
                    try await writer.write(ByteBuffer(string: String(content.prefix(5))))
                    throw CancellationError()
                })
        }
        return Self.json(content, [.cacheControl: "max-age=\(freshness)"])
    }

    private static func json(_ text: String, _ headers: HTTPFields = [:]) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private static var now: Int { Int(Date().timeIntervalSince1970) }
}

extension Channel {
    /// Where a server on loopback listens; the system has chosen the port.
    var loopback: URL {
        URL(string: "http://127.0.0.1:\(localAddress?.port ?? 0)/") ?? URL(filePath: "/")
    }
}

/// Runs both upstreams as long as `body` runs, and tells it where they are.
func withUpstreams(
    _ config: ConfigReader, _ body: @Sendable (_ weather: URL, _ places: URL) async throws -> Void
) async throws {
    try await withThrowingTaskGroup { group in
        var urls: [URL] = []
        for upstream in [Upstream.weather(config), .places(config)] {
            let (started, continuation) = AsyncStream<URL>.makeStream()
            group.addTask {
                // Without a port there is nobody to wait for.
                defer { continuation.finish() }
                try await upstream.run { continuation.yield($0) }
            }
            for await url in started {
                urls.append(url)
                break
            }
        }
        if urls.count == 2 { try await body(urls[0], urls[1]) }
        group.cancelAll()
        while let result = await group.nextResult() {
            if case .failure(let error) = result, !(error is CancellationError) { throw error }
        }
    }
}
