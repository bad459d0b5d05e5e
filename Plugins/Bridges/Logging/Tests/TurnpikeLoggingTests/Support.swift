// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import Turnpike

/// The value that the metadata provider of the tests reads.
enum Trace {
    @TaskLocal static var id: String?

    static let provider = Logger.MetadataProvider {
        id.map { ["trace_id": "\($0)"] } ?? [:]
    }
}

/// A logger that stores its entries in memory.
struct Journal {
    let handler: InMemoryLogHandler
    let logger: Logger

    init(level: Logger.Level = .info, provider: Logger.MetadataProvider? = nil) {
        var handler = InMemoryLogHandler()
        handler.logLevel = level
        handler.metadataProvider = provider
        self.handler = handler
        logger = Logger(label: "test") { [handler] _ in handler }
    }

    var entries: [InMemoryLogHandler.Entry] { handler.entries }

    /// The level and the message of each entry.
    var lines: [String] { entries.map { "\($0.level): \($0.message)" } }

    /// Returns the values of a key in order, from all entries with the key.
    func values(_ key: String) -> [String] { entries.compactMap { $0.metadata[key]?.description } }
}

let anywhere: Target = "http://a.example/"

let retrying = Retry(backoff: Backoff(base: .zero))

func makeClient(
    _ transport: any Transport, _ gates: [any Gate],
    clock: any TimeSource = SystemTimeSource()
) -> Client {
    Client(transport: transport, stack: Stack(gates), timeSource: clock)
}

/// A transport that reports the version of the protocol.
struct Versioned: Transport {
    var capabilities: TransportCapabilities { [] }

    func send(_ request: Request, context: Context) async throws -> Response {
        Response(head: ResponseHead(status: .ok, url: request.url, version: "2"))
    }

    func shutdown() async {}
}

/// Replaces a transport that has removed a coding, with or without counting the encoded bytes.
struct Coded: Interceptor {
    let size: Int64?

    private struct Source: ResponseBodySource {
        let body: ResponseBody
        let encodedBytes: Int64?

        func next() async throws -> Data? { try await body.pull() }
        func cancel(_ reason: CancelReason) { body.cancel(reason) }
    }

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        var response = try await next(request)
        response.body = ResponseBody(source: Source(body: response.body, encodedBytes: size))
        return response
    }
}
