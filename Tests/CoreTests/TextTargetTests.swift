// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("A target in a variable")
struct TextTargetTests {
    @Test("Text in a variable is a target as a literal is, and its fault is the call's error")
    func variable() async throws {
        let transport = MockTransport { .ok(text: $0.targetURI.absoluteForm) }
        let client = Client(transport, clock: ManualClock(), [])
        let good = String("http://a.example/x")
        for call in [
            client.get(good), client.head(good), client.delete(good), client.options(good),
            client.post(good), client.put(good), client.patch(good), client.request(.get, good),
            client.upload(.empty, to: good), client.request(Request(.get, good)),
        ] {
            _ = try await call.response()
        }
        #expect(transport.sent.count == 10)
        #expect(
            transport.sent.allSatisfy { $0.request.targetURI.absoluteForm == "http://a.example/x" })
        let error = await #expect(throws: ClientError.self) {
            try await client.get(String("http://a.example/%zz")).response()
        }
        #expect(error?.message.contains("hexadecimal") == true)
    }
}
