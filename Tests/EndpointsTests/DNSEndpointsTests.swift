// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("DNSEndpoints")
struct DNSEndpointsTests {
    private struct Answers: HostResolver {
        let answer: @Sendable (String, Context) async throws -> [IPAddress]
        func addresses(of name: String, context: Context) async throws -> [IPAddress] {
            try await answer(name, context)
        }
    }

    private func resolver(
        _ name: String = "users.internal", port: Int = 8080,
        _ answer: @escaping @Sendable (String, Context) async throws -> [IPAddress]
    ) -> DNSEndpoints {
        DNSEndpoints(name, port: port, refresh: .seconds(30), resolver: Answers(answer: answer))
    }

    private func fault(_ resolver: DNSEndpoints) async throws -> String {
        do {
            _ = try await resolver.endpoints(in: Context())
        } catch let error as ClientError where error.code == .dns || error.code == .configuration {
            return "\(error.code): \(error.message)"
        }
        Issue.record("there was no error")
        return ""
    }

    @Test("Addresses become endpoints, in one order")
    func addresses() async throws {
        let resolver = resolver { name, _ in
            #expect(name == "users.internal")
            return ["10.0.0.2", "2001:db8::1", "10.0.0.1", "10.0.0.2"].compactMap { IPAddress($0) }
                .shuffled()
        }
        for _ in 0..<20 {
            let list = try await resolver.endpoints(in: Context())
            #expect(
                list.endpoints.map(\.description) == [
                    "10.0.0.1:8080", "10.0.0.2:8080", "[2001:db8:0:0:0:0:0:1]:8080",
                ])
            #expect(list.freshFor == .seconds(30))
        }
    }

    @Test("No address, too many addresses and a failure are errors")
    func failures() async throws {
        #expect(
            try await fault(resolver { _, _ in [] })
                == "dns: the endpoints of users.internal are not known: found no address; expected at"
                + " least one")
        let many = (0..<10_001 as Range<UInt32>).map { IPAddress(v4: $0) }
        #expect(
            try await fault(resolver { _, _ in many }).contains(
                "found 10001 addresses; expected at most 10000"))
        let most = try await resolver { _, _ in Array(many.dropLast()) }.endpoints(in: Context())
        #expect(most.endpoints.count == 10_000)
        #expect(
            try await fault(
                resolver { _, _ in throw ClientError(.dns, "the host's name has no address") })
                == "dns: the endpoints of users.internal are not known: the host's name has no address"
        )
        #expect(try await fault(resolver("a b") { _, _ in [] }).contains("configuration: "))
        #expect(try await fault(resolver(port: 0) { _, _ in [] }).contains("found the port 0"))
    }

    @Test("A lookup that hangs fails at its limit, and the next one begins anew")
    func hangs() async throws {
        let asked = Tally()
        let clock = ManualClock()
        let resolver = resolver { _, context in
            asked.add()
            try await context.sleep(for: .seconds(1000))
            return []
        }
        for number in 1...3 {
            let waiting = Task { try await resolver.endpoints(in: Context(timeSource: clock)) }
            try await clock.waitForTimer(in: .seconds(1000))
            clock.advance(by: .seconds(5))
            await #expect {
                try await waiting.value
            } throws: {
                ClientError.Code.dns ~= $0
                    && ($0 as? ClientError)?.message.contains("has taken longer than 5 s") == true
            }
            try await until("timers to end") { clock.timerCount == 0 }
            #expect(asked.count == number)
        }
    }

    @Test("A cancelled lookup ends at once")
    func cancellation() async throws {
        let clock = ManualClock()
        let resolver = resolver { _, context in
            try await context.sleep(for: .seconds(1000))
            return []
        }
        let context = Context(timeSource: clock)
        let waiting = Task { try await resolver.endpoints(in: context) }
        try await clock.waitForTimers(2)
        context.cancel(.drop)
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await until("timers to end") { clock.timerCount == 0 }
    }

    @Test("The system's resolver is asked anew each time")
    func system() async throws {
        let resolver = DNSEndpoints("localhost", port: 80)
        let list = try await resolver.endpoints(in: Context())
        #expect(list.endpoints.contains(Endpoint("127.0.0.1", port: 80)))
        let asked = Tally()
        let counted = SystemHostResolver(width: 1, keeping: .zero) { _ in
            asked.add()
            return [IPAddress(v4: 1)]
        }
        let own = DNSEndpoints("users.internal", port: 80, resolver: counted)
        for _ in 0..<5 { _ = try await own.endpoints(in: Context()) }
        #expect(asked.count == 5)
    }
}
