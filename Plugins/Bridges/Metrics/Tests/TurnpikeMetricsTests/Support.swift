// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Foundation
import MetricsTestKit
import Turnpike

let anywhere: Target = "http://a.example/"

let retrying = Retry(backoff: Backoff(base: .zero))

func makeClient(
    _ transport: any Transport, _ gates: [any Gate],
    clock: any TimeSource = SystemTimeSource()
) -> Client {
    Client(transport: transport, stack: Stack(gates), timeSource: clock)
}

extension TestMetrics {
    /// The values of the meters with a name.
    func levels(_ label: String) -> [Double] { meters(label: label).compactMap(\.lastValue) }

    /// The dimensions of each recorded duration, without empty dimensions.
    var passes: [[String: String]] {
        timers(label: "http.client.request.duration").flatMap { timer in
            timer.values.map { _ in
                Dictionary(uniqueKeysWithValues: timer.dimensions.filter { !$0.1.isEmpty })
            }
        }
    }
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
