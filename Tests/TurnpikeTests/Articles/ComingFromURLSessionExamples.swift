// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Coming from URLSession")
struct ComingFromURLSessionExamples {
    private let transport = MockTransport([
        .on(.get, "/v1/orders/7", .ok(json: ["id": 7, "total": 10])),
        .on(.post, "/v1/orders", .status(201)),
    ])

    @Test("What a caller of URLSession begins with, and requests of both kinds")
    func urlSession() async throws {
        let client = Client(baseURL: "https://api.example.com/v1/", transport: transport)
        let order = try await client.get("orders/7").decode(Order.self)
        try await client.post("orders", json: order).empty()

        let old = try URLRequest(Request(.get, "https://api.example.com/v1/orders/7"))
        let again = try await client.request(Request(old)).decode(Order.self)
        #expect(order == again && transport.sentCount == 3)
    }
}
