// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Metrics, sizes")
struct MetricsSizeTests {
    private let store = MetricsStore()

    @Test("The size of a response is that of the coded content; a failure has none")
    func responseSize() async throws {
        struct Counted: ResponseBodySource {
            let body: ResponseBody
            var encodedBytes: Int64? { 2 }
            func next() async throws -> Data? { try await body.pull() }
            func cancel(_ reason: CancelReason) { body.cancel(reason) }
        }
        struct Decoding: Interceptor {
            func intercept(
                _ request: Request, context: Context, next: Next
            ) async throws -> Response {
                var response = try await next(request)
                response.body = ResponseBody(source: Counted(body: response.body))
                return response
            }
        }
        let transport = MockTransport([.any(.connectionLost, .status(404), .ok(text: "12345"))])
        let client = Client(transport, [.metrics(store), .validate(), Decoding()])
        for _ in 0..<3 { _ = try? await client.get(anywhere).serialize(with: Text()) }
        let sizes = Dictionary(
            uniqueKeysWithValues: store.series.map { labels, series in
                let status = labels.attributes.first { $0.name == "http.response.status_code" }
                return (status?.value ?? "", series.responseBodySize)
            })
        #expect(sizes[""]?.count == 0)
        #expect(sizes["404"]?.count == 0)
        #expect(sizes["200"]?.count == 1 && sizes["200"]?.sum == 2)
    }
}
