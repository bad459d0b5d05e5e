// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("MockTransport, from several threads")
struct MockTransportConcurrencyTests {
    @Test("A thousand sends are all counted, the latest are kept, and each answer is given once")
    func record() async throws {
        let answers = (0..<100).map { MockResponse.status(HTTPStatus(400 + $0)) }
        let turns = Tally()
        let transport = MockTransport(recordLimit: 50) { _ in
            turns.add()
            return .ok(text: "x")
        }
        let scripted = MockTransport([MockStub(answers + [.ok()]) { _ in true }])
        let client = Client(transport)
        let other = Client(scripted)
        let seen = Notes()
        await withTaskGroup { group in
            for number in 0..<1000 {
                group.addTask {
                    let call = client.post(anywhere, body: .text("\(number)"))
                    _ = try? await call.serialize(with: Text())
                    let status = try? await other.get(anywhere).response().status
                    seen.add("\(status?.code ?? 0)")
                    _ = transport.sent.count
                }
            }
        }
        #expect(transport.sentCount == 1000 && turns.count == 1000)
        #expect(transport.sent.count <= 50)
        let codes = seen.all
        for code in 400..<500 { #expect(codes.count { $0 == "\(code)" } == 1) }
        #expect(codes.count { $0 == "200" } == 900)
    }
}
