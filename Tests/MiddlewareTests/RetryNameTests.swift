// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Retry after a name that cannot be resolved")
struct RetryNameTests {
    private let clock = ManualClock()
    private let now = Backoff(base: .zero)

    @Test("A name that cannot be resolved twice in a row is not asked for again")
    func names() async throws {
        let unknown = MockResponse.hostNotFound
        let cases: [([MockResponse], Int)] = [
            ([unknown], 2), ([unknown, .ok()], 2), ([.status(503), unknown, unknown, .ok()], 3),
            ([unknown, .status(503), unknown, .ok()], 4),
        ]
        for (responses, sends) in cases {
            let turn = Tally()
            let transport = MockTransport { _ in responses[min(turn.add(), responses.count) - 1] }
            let client = Client(transport, clock: clock, [.retry(attempts: 5, backoff: now)])
            do {
                _ = try await client.get(anywhere).response()
            } catch let error as ClientError {
                #expect(error.code == .dns)
                #expect(
                    error.message.contains("not tried again: the name could not be resolved twice"))
            }
            #expect(transport.sentCount == sends)
        }
        // Whoever waits for a name to appear says so.
        let transport = MockTransport { _ in unknown }
        let policy = RetryPolicy.standard.deciding { $0.code == .dns ? true : nil }
        let client = Client(
            transport, clock: clock, [.retry(attempts: 5, policy: policy, backoff: now)])
        _ = try? await client.get(anywhere).response()
        #expect(transport.sentCount == 5)
    }
}
