// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@Suite("Options of a user's own")
struct OwnOptionTests {
    @Test("An option of a user's own can have its gate next to the transport")
    func ownOption() async throws {
        enum Stamp: RequestOptionKey {
            static func gate(for value: String) -> (any Gate)? { Stamping() }
            static var gatePlace: GatePlace { .innermost }
        }
        struct Stamping: SynchronousRequestAdapter {
            func adapt(_ request: inout Request, context: Context) {
                request.headers["X-Stamp"] = request.options[Stamp.self].map {
                    "\($0) \(context.attempt)"
                }
            }
        }
        let transport = MockTransport([.any(.status(503), .ok())])
        let client = Client(
            baseURL: "http://a.example/", transport: transport,
            stack: [.retry(backoff: .constant(.zero))])
        try await client.get("x").option(Stamp.self, "a").empty()
        #expect(transport.sent.map { $0.request.headers["X-Stamp"] } == ["a 1", "a 2"])
    }
}
