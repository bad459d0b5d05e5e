// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TurnpikeCore
import TurnpikeTesting

struct ConnectTargetTests {
    private struct NeedsTargets: RequestAdapter {
        var requiredCapabilities: TransportCapabilities { .connectTargets }
        func adapt(_ request: inout Request, context: Context) async throws {
            request.options.connectTarget = .host("10.0.0.7", port: 8080)
        }
    }

    private struct Group: GateGroup {
        let gates: [any Gate]
        func applies(to request: Request, context: Context) -> Bool { true }
    }

    private func client(_ capabilities: TransportCapabilities, _ gate: any Gate) -> (
        Client, MockTransport
    ) {
        let transport = MockTransport(capabilities: capabilities) { _ in .ok() }
        let client = Client(
            baseURL: "http://users.internal/", transport: transport, stack: Stack([gate]),
            serializers: SerializerTable())
        return (client, transport)
    }

    @Test(arguments: [
        ConnectTarget.host("10.0.0.7", port: 8080), .host("2001:db8::7", port: 1),
        .host("node_1.cluster.local.", port: 65535), .unixSocket("/run/users.sock"),
    ])
    func validTargetsHaveNoFault(_ target: ConnectTarget) {
        #expect(target.fault == nil)
    }

    @Test(arguments: [
        (ConnectTarget.host("", port: 80), "expected an IP address or a name"),
        (.host("[::1]", port: 80), "expected an IP address or a name"),
        (.host("fe80::1%eth0", port: 80), "expected an IP address or a name"),
        (.host("a b", port: 80), "expected an IP address or a name"),
        (.host("x:1", port: 80), "expected an IP address or a name"),
        (.host(String(repeating: "x", count: 255), port: 80), "at most 254"),
        (.host("10.0.0.7", port: 0), "found the port 0"),
        (.host("10.0.0.7", port: 65536), "expected 1 to 65535"),
        (.unixSocket("run/users.sock"), "expected an absolute path"),
        (.unixSocket("/" + String(repeating: "x", count: 103)), "at most 103 bytes"),
        (.unixSocket("/run\0"), "expected an absolute path"),
    ])
    func faultsSayWhatWasFound(_ target: ConnectTarget, _ part: String) throws {
        #expect(try #require(target.fault).contains(part))
    }

    @Test func theOriginStaysAndTheTransportGetsTheTarget() async throws {
        let (client, transport) = client(.connectTargets, NeedsTargets())
        _ = try await client.get("a").response()
        let sent = try #require(transport.sent.first?.request)
        #expect(sent.origin?.host == "users.internal")
        #expect(sent.options.connectTarget?.description == "10.0.0.7:8080")
    }

    @Test(arguments: [false, true])
    func aNeedThatTheTransportLacksIsAFaultOfTheClient(_ isInGroup: Bool) async throws {
        let gate: any Gate = isInGroup ? Group(gates: [NeedsTargets()]) : NeedsTargets()
        let (client, transport) = client([], gate)
        let fault = try #require(client.fault)
        #expect(fault.code == .unsupported)
        #expect(fault.message.contains("the gate NeedsTargets needs connect targets"))
        #expect(fault.message.contains("CurlTransport"))
        await expectError(.unsupported) { try await client.get("a").response() }
        #expect(transport.sentCount == 0)
    }

    @Test func aRequestWithATargetIsRefusedByATransportWithoutThem() async throws {
        let transport = MockTransport(capabilities: []) { _ in .ok() }
        let client = Client(
            transport: transport, stack: Stack([]), serializers: SerializerTable())
        var request = Request(.get, "http://users.internal/")
        request.options.connectTarget = .unixSocket("/run/users.sock")
        let error = await #expect(throws: ClientError.self) {
            try await client.request(request).response()
        }
        #expect(error?.code == .unsupported)
        #expect(transport.sentCount == 0)
    }
}
