// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeRegions
import TurnpikeTesting

@Suite("What every plugin must hold to")
struct ConformanceTests {
    @Test(arguments: InterceptorConformance.checks)
    func gate(_ check: InterceptorConformance.Check) async throws {
        try await check.run(on: PreferRegion("eu", otherwise: "us"))
    }

    @Test(arguments: InterceptorConformance.checks)
    func budget(_ check: InterceptorConformance.Check) async throws {
        try await check.run(on: TimeBudget(.seconds(5)))
    }

    @Test(arguments: TransportConformance.checks)
    func transport(_ check: TransportConformance.Check) async throws {
        try await check.run(on: RegionalTransport(home: URLSessionTransport()))
    }

    private static let csvChecks = SerializerConformance.checks(
        of: CSVSerializer.self, sample: Data("name,size\na,1\nb,2\n".utf8), type: "text/csv")

    @Test(arguments: csvChecks)
    func serializer(_ check: ConformanceCheck<CSVSerializer>) async throws {
        try await check.run(on: CSVSerializer())
    }
}
