// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeStackFiles

@Suite("Settings of gates that set header fields")
struct HeaderGateSettingsTests {
    @Test(
        "A stack file creates the gates",
        arguments: [
            (#"{"use": "idempotencyKey"}"#, "Idempotency-Key"),
            (#"{"use": "idempotencyKey", "header": "X-Key"}"#, "X-Key"),
            (#"{"use": "requestID"}"#, "X-Request-ID"),
            (#"{"use": "requestID", "header": "Correlation-ID"}"#, "Correlation-ID"),
            (#"{"use": "traceContext"}"#, "traceparent"),
            (#"{"use": "userAgent"}"#, "User-Agent"),
            (#"{"use": "userAgent", "value": "shop/2"}"#, "User-Agent"),
            (#"{"use": "defaultHeaders", "set": [["X-A", "1"]]}"#, "X-A"),
            (#"{"use": "defaultHeaders", "languages": ["de"]}"#, "Accept-Language"),
        ])
    func makes(gate: String, header: String) async throws {
        let file =
            #"{"transport": {"use": "mock", "responses": [{"status": 200}]}, "stack": [\#(gate)]}"#
        let client = try ConfiguredClient(StackFile(parsing: Data(file.utf8))).client
        _ = try await client.post("http://a.example/").response()
        let transport = try #require(client.transport as? MockTransport)
        #expect(transport.sent.first?.request.headers[HTTPHeaders.Name(header)] != nil)
    }

    @Test(
        "A mistake has its path",
        arguments: [
            (#"{"use": "idempotencyKey", "header": "a b"}"#, "stack[0].header"),
            (#"{"use": "requestID", "header": ""}"#, "stack[0].header"),
            (#"{"use": "userAgent", "value": "a\nb"}"#, "stack[0].value"),
            (#"{"use": "defaultHeaders", "set": [["a b", "1"]]}"#, "stack[0].set[0]"),
            (
                #"{"use": "defaultHeaders", "languages": ["de", "no good"]}"#,
                "stack[0].languages[1]"
            ),
        ])
    func mistakes(gate: String, place: String) throws {
        let file = try StackFile(parsing: Data(#"{"stack": [\#(gate)]}"#.utf8))
        let error = #expect(throws: ClientError.self) { try ConfiguredClient(file) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(place) == true, "\(error?.message ?? "")")
    }
}
