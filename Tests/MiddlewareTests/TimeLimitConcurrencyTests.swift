// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Time limits, from several threads")
struct TimeLimitConcurrencyTests {
    @Test("A limit that races with the response gives the caller one of the two")
    func race() async {
        let transport = MockTransport(recordLimit: 0) { request in
            .ok(text: "x").delayed(by: .microseconds(Int(request.body.length ?? 0)))
        }
        let client = Client(
            transport, clock: SystemTimeSource(),
            [.deadline(.milliseconds(3)), .attemptTimeout(.milliseconds(2)), .idleTimeout()])
        let counts = await withTaskGroup(of: ClientError.Code?.self) { group in
            for number in 0..<600 {
                group.addTask {
                    let body = RequestBody.data(Data(count: number % 60 * 100))
                    return await code(of: client.post(anywhere, body: body))
                }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(counts.values.reduce(0, +) == 600)
        #expect(Set(counts.keys).isSubset(of: [nil, .attemptTimeout, .deadlineExceeded]))
        // The longest delays are far beyond the limit.
        #expect(counts[.attemptTimeout, default: 0] + counts[.deadlineExceeded, default: 0] > 100)
    }
}
