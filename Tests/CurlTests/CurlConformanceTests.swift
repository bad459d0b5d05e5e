// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("CurlTransport conforms")
struct CurlConformanceTests {
    // `CurlPollingTests` are the short form.
    @Test(
        "And where threads look long for what they wait for", .long,
        arguments: TransportConformance.checks)
    func conformsBusily(_ check: TransportConformance.Check) async throws {
        var configuration = CurlTransport.Configuration()
        configuration.busyPolling = .milliseconds(1)
        try await check.run(on: try CurlTransport(configuration: configuration))
    }
}
