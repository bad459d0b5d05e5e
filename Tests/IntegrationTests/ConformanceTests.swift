import Testing
import Turnpike
import TurnpikeTesting

@Suite("URLSessionTransport conforms")
struct URLSessionConformanceTests {
    @Test("To what every transport holds", arguments: TransportConformance.checks)
    func conforms(_ check: TransportConformance.Check) async throws {
        try await check.run(on: URLSessionTransport())
    }
}
