// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

@Suite("Coming from AsyncHTTPClient")
struct ComingFromAsyncHTTPClientExamples {
    private let transport = MockTransport([
        .on(.get, "/v1/orders/7", .ok(json: ["id": 7, "total": 10])),
        .on(.get, "/v1/export", .ok(text: "abc")),
    ])

    @Test("What a caller of AsyncHTTPClient begins with")
    func asyncHTTPClient() async throws {
        var bytes = 0
        let client = Client(baseURL: "https://api.example.com/v1/", transport: transport)
        let order = try await client.get("orders/7").deadline(.seconds(10)).decode(Order.self)
        let response = try await client.get("export").streaming().response()
        for try await chunk in response.body { bytes += chunk.count }
        await client.shutdown(grace: .seconds(5))
        #expect(order == Order(id: 7, total: 10) && bytes == 3)
    }
}
