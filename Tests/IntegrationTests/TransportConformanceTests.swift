// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeTesting

@Suite("Transports conform")
struct TransportConformanceTests {
    @Test(
        "To what every transport holds", arguments: Road.allCases, TransportConformance.checks)
    func conforms(road: Road, check: TransportConformance.Check) async throws {
        try await check.run(on: road.transport())
    }
}
