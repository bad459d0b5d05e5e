import Testing
import TurnpikeCurl
import TurnpikeTesting

@Suite("CurlTransport conforms")
struct CurlConformanceTests {
    @Test("To what every transport holds", arguments: TransportConformance.checks)
    func conforms(_ check: TransportConformance.Check) async throws {
        try await check.run(on: try CurlTransport())
    }
}
