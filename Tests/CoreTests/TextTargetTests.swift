// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("What a target can be")
struct TextTargetTests {
    @Test("Text in a variable, interpolated text, a URL and a template name the same target")
    func kinds() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport, clock: ManualClock(), [])
        let (text, name) = (String("http://a.example/x"), "x")
        let url = try #require(URL(string: text))
        for call in [
            client.get(text), client.get("http://a.example/\(name)"), client.get(url),
            client.get(Target(text)), client.get(.path("http://a.example/{name}", ["name": name])),
            client.post(text), client.request(Request(.get, text)),
            client.request(Request(.get, url)), client.request(Request(.get, "http://a.example/x")),
        ] {
            _ = try await call.response()
        }
        let sent = transport.sent.map(\.request.targetURI.absoluteForm)
        #expect(sent == Array(repeating: text, count: 9))
    }

    @Test("A fault of text in a variable is the error of the call")
    func fault() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport, clock: ManualClock(), [])
        let text = String("http://a.example/%zz")
        for call in [client.get(text), client.request(Request(.post, text))] {
            let error = await #expect(throws: ClientError.self) { try await call.response() }
            #expect(error?.message.contains("hexadecimal") == true)
        }
        #expect(transport.sentCount == 0)
    }
}
