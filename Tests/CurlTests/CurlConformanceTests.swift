// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
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

    @Test("A transport that loses the bytes behind the head of a 101 is found")
    func losing() async throws {
        struct Losing: Transport {
            let inner: CurlTransport
            var capabilities: TransportCapabilities { inner.capabilities }

            func send(_ request: Request, context: Context) async throws -> Response {
                let response = try await inner.send(request, context: context)
                _ = try await response.upgradedConnection?.read(upTo: 2)
                return response
            }

            func shutdown() async { await inner.shutdown() }
        }
        var found: [String] = []
        let checks = TransportConformance.checks.filter { $0.name.contains("pgraded") }
        for check in checks where check.name.contains("bytes") {
            do {
                try await check.run(on: Losing(inner: try CurlTransport()))
            } catch { found.append(check.name) }
        }
        #expect(found.count == 2, "\(found)")
    }

    @Test("A transport that collects live content before it sends it is found")
    func collecting() async throws {
        struct Collecting: Transport {
            let inner: CurlTransport
            var capabilities: TransportCapabilities { inner.capabilities }

            func send(_ request: Request, context: Context) async throws -> Response {
                var collected = request
                let reader = try request.body.open()
                var content = Data()
                while let chunk = try await reader.nextToSend() { content += chunk }
                collected.body = .data(content)
                return try await inner.send(collected, context: context)
            }

            func shutdown() async { await inner.shutdown() }
        }
        var found: [String] = []
        for check in TransportConformance.checks where check.name.contains("ive content") {
            do {
                // The content never ends, so neither does the check.
                try await check.run(
                    on: Collecting(inner: try CurlTransport()), limit: .seconds(1))
            } catch { found.append("\(error)") }
        }
        #expect(found.count == 2 && found.allSatisfy { $0.contains("hangs") }, "\(found)")
    }

    @Test(
        "Upgrades conform",
        arguments: TransportConformance.checks.filter { $0.name.contains("pgrade") })
    func upgrades(_ check: TransportConformance.Check) async throws {
        try await check.run(on: try CurlTransport())
    }
}
