// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Gates conform")
struct GateConformanceTests {
    struct Named: Sendable, CustomTestStringConvertible {
        let make: @Sendable () -> any Gate
        var testDescription: String { make().gateName }
    }

    static let gates: [Named] = [
        Named { .deadline(.seconds(10_000_000)) }, Named { .validate() }, Named { .redirect() },
        Named { .retry(attempts: 3) }, Named { .attemptTimeout(.seconds(10_000_000)) },
        Named { .idleTimeout(.seconds(30)) }, Named { .log(to: MemoryLogSink()) },
        Named { .metrics(MetricsStore()) },
    ]

    @Test("Gates meet every requirement", arguments: gates, InterceptorConformance.checks)
    func conforms(_ gate: Named, _ check: InterceptorConformance.Check) async throws {
        try await check.run(on: gate.make())
    }

    @Test("A gate that collects content is found")
    func collecting() async throws {
        struct Collecting: Interceptor {
            func intercept(
                _ request: Request, context: Context, next: Next
            ) async throws -> Response {
                var response = try await next(request)
                let data = try await response.body.collect(upTo: 10_000)
                response.body = ResponseBody(data)
                return response
            }
        }
        var found: [String] = []
        for check in InterceptorConformance.checks {
            do { try await check.run(on: Collecting()) } catch { found.append("\(error)") }
        }
        #expect(found.count == 2, "\(found)")
        #expect(found.allSatisfy { !$0.contains("hangs") })
    }
}

@Suite("Serializers conform")
struct SerializerConformanceTests {
    static let jsonChecks = SerializerConformance.checks(
        of: JSONSerializer.self, sample: Data(#"{"a":[1,2.5,null,"é😀"],"b":{}}"#.utf8), type: .json)
    static let textChecks = SerializerConformance.checks(
        of: StringSerializer.self, sample: Data("grüße, 世界".utf8),
        type: MediaType("text", "plain"))

    @Test("JSON", arguments: jsonChecks)
    func json(_ check: ConformanceCheck<JSONSerializer>) async throws {
        try await check.run(on: JSONSerializer())
    }

    @Test("Text", arguments: textChecks)
    func text(_ check: ConformanceCheck<StringSerializer>) async throws {
        try await check.run(on: StringSerializer())
    }
}
