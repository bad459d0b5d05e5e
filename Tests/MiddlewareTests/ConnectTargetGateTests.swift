// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// Says that each name has a public address.
private struct PublicResolver: HostResolver {
    func addresses(of name: String, context: Context) throws -> [IPAddress] {
        [IPAddress(v4: 0x0808_0808)]
    }
}

@Suite("Gates and connect targets")
struct ConnectTargetGateTests {
    private let transport = MockTransport { _ in .ok(text: "x") }
    private let endpoint = ConnectTarget.host("10.0.0.7", port: 8080)

    private func request(_ url: String = "http://users.internal/", at target: ConnectTarget?)
        -> Request
    {
        var request = Request(.get, Target(url))
        request.options.connectTarget = target
        return request
    }

    private func outcome(_ policy: URLPolicy, at target: ConnectTarget?) async
        -> ClientError.Code?
    {
        await code(of: Client(transport, [policy]).request(request(at: target)))
    }

    @Test(
        "A redirect keeps the target within its origin, and drops it on the way to another",
        arguments: [
            ("/next", true), ("http://users.internal/next", true),
            ("https://users.internal/next", false), ("http://users.internal:81/next", false),
            ("http://other.internal/next", false),
        ])
    func redirect(location: String, isKept: Bool) async throws {
        let transport = MockTransport { request in
            request.url.path() == "/"
                ? .status(302, headers: ["Location": location]) : .ok(text: "x")
        }
        _ = try await Client(transport, [.redirect()]).request(request(at: endpoint)).response()
        #expect(transport.sent.map(\.connectTarget) == [endpoint, isKept ? endpoint : nil])
    }

    @Test("A redirect that leads away and back does not bring the target back")
    func redirectBack() async throws {
        let transport = MockTransport { request in
            switch request.url.absoluteString {
            case "http://users.internal/":
                .status(302, headers: ["Location": "http://other.internal/"])
            case "http://other.internal/":
                .status(302, headers: ["Location": "http://users.internal/end"])
            default: .ok(text: "x")
            }
        }
        _ = try await Client(transport, [.redirect()]).request(request(at: endpoint)).response()
        #expect(transport.sent.map(\.connectTarget) == [endpoint, nil, nil])
    }

    @Test("The policy judges the target instead of the name")
    func policy() async {
        let policy = URLPolicy(denyPrivate: .always, resolver: PublicResolver())
        #expect(await outcome(policy, at: nil) == .urlPolicy)
        #expect(await outcome(policy, at: endpoint) == .urlPolicy)
        #expect(await outcome(policy, at: .host("127.1", port: 80)) == .urlPolicy)
        #expect(await outcome(policy, at: .host("localhost", port: 80)) == .urlPolicy)
        #expect(await outcome(policy, at: .host("2130706433", port: 80)) == .urlPolicy)
        #expect(await outcome(policy, at: .unixSocket("/run/users.sock")) == .urlPolicy)
        #expect(transport.sentCount == 0)
        #expect(await outcome(policy, at: .host("8.8.8.8", port: 80)) == nil)
        #expect(await outcome(policy, at: .host("2606:4700::1111", port: 80)) == nil)
        #expect(await outcome(policy, at: .host("node.example", port: 80)) == nil)
        #expect(transport.sentCount == 3)
    }

    @Test("Lists of hosts look at the name, and the denied ones at the target too")
    func lists() async {
        let allowed = URLPolicy(allowedHosts: ["users.internal"])
        #expect(await outcome(allowed, at: endpoint) == nil)
        #expect(await outcome(allowed, at: .unixSocket("/run/users.sock")) == nil)
        let denied = URLPolicy(deniedHosts: ["10.0.0.7"])
        #expect(await outcome(denied, at: endpoint) == .urlPolicy)
        #expect(await outcome(denied, at: .host("0xa000007", port: 1)) == .urlPolicy)
        #expect(await outcome(denied, at: .host("10.0.0.8", port: 1)) == nil)
    }

    @Test("A guarded request carries the rule for its addresses, and another one does not")
    func rule() async throws {
        let address = try #require(IPAddress("10.0.0.7"))
        let publicAddress = try #require(IPAddress("8.8.8.8"))
        func rule(_ policy: URLPolicy, _ request: Request) async throws -> AddressRule? {
            _ = try await Client(transport, [policy]).request(request).response()
            return transport.sent.last?.request.options.addressRule
        }
        let guarded = URLPolicy(denyPrivate: .always, resolver: nil)
        var request = Request(.get, "http://a.example/")
        let plain = try #require(try await rule(guarded, request))
        #expect(!plain.allows(address) && plain.allows(publicAddress))
        #expect(try await rule(URLPolicy(), request) == nil)
        #expect(try await rule(URLPolicy(denyPrivate: .onRedirect), request) == nil)
        // The call's own rule holds, too.
        request.options.addressRule = AddressRule { $0 != publicAddress }
        let both = try #require(try await rule(guarded, request))
        #expect(!both.allows(address) && !both.allows(publicAddress))
        #expect(both.allows(try #require(IPAddress("8.8.4.4"))))
    }
}
