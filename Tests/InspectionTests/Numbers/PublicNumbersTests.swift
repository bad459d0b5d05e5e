// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeTesting

@Suite("Public numbers without limit", .timeLimit(.minutes(5)))
struct PublicNumbersTests {
    private static let rows =
        NumberRow.limiting + NumberRow.timing + NumberRow.balancing + NumberRow.observing
        + NumberRow.storing + NumberRow.core

    @Test("The table has each public number of the gates, the cache and the core")
    func complete() throws {
        let known = Set(Self.rows.map(\.name)).union(NumberRow.figures)
        let modules = [
            "TurnpikeMiddleware", "TurnpikeAuthentication", "TurnpikeCache", "TurnpikeCore",
            "TurnpikeEndpoints", "TurnpikeTraffic", "TurnpikeURLSession",
        ]
        let numbers = try modules.reduce(into: Set<String>()) {
            $0.formUnion(try PublicNumbers.of($1))
        }
        #expect(numbers.count > 130)
        #expect(numbers.subtracting(known).sorted() == [])
    }

    @Test(
        "Whatever a number is, it is made, explained, judged, and calls end",
        arguments: rows.indices)
    func extremes(_ index: Int) async throws {
        let row = Self.rows[index]
        for (_, use) in row.uses {
            // What waits for ever by the caller's word ends with the limit of the simulation.
            do {
                try await Simulation(seed: 1, limit: .seconds(100_000)).run { try await use($0) }
            } catch is SimulationError {}
        }
    }
}
