// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// Says that each name has a public address.
private struct PublicResolver: HostResolver {
    func addresses(of name: String, context: Context) throws -> [IPAddress] {
        [IPAddress(v4: 0x0808_0808)]
    }
}

@Suite("Address rules over CurlTransport")
struct CurlAddressRuleTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.fallback(.ok(text: "x"))
    }

    private var target: ConnectTarget { .host("127.0.0.1", port: server.port) }

    /// A transport for which a name has certain addresses when it connects.
    private func transport(
        _ addresses: [String] = ["127.0.0.1"],
        _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.overrides = [
            .init(host: "name.example", port: server.port, addresses: addresses)
        ]
        configure(&configuration)
        return try CurlTransport(configuration: configuration)
    }

    private var url: String { "http://name.example:\(server.port)/" }

    private func call(
        _ client: Client, _ url: String? = nil, at target: ConnectTarget? = nil,
        refusing addresses: Set<String>
    ) throws -> Call {
        let refused = Set(addresses.compactMap { IPAddress($0) })
        var request = Request(.get, try #require(URL(string: url ?? self.url)))
        request.options.connectTarget = target
        request.options.addressRule = AddressRule { !refused.contains($0) }
        return client.request(request)
    }

    private func expectRefusal(_ call: Call) async {
        let error = await #expect(throws: ClientError.self) { try await call.data() }
        #expect(error?.code == .urlPolicy)
        #expect(error?.transfer?.isUnsent == true)
    }

    @Test("An IPv4 address in the form of IPv6 is judged as what it is")
    func mapped() async throws {
        let transport = try transport(["::ffff:127.0.0.1"])
        let client = Client(transport: transport, stack: [])
        await expectRefusal(try call(client, refusing: ["127.0.0.1"]))
        #expect(try await call(client, refusing: ["::1"]).string() == "x")
        await client.shutdown()
    }

    @Test("A name that has become private after it was judged is refused")
    func rebinding() async throws {
        let client = Client(
            transport: try transport(),
            stack: [.urlPolicy(denyPrivate: .always, resolver: PublicResolver())])
        await expectRefusal(client.get(Target(url)))
        #expect(server.counts.accepted == 0)
    }

    @Test("So is a request on a connection that others have left, or hold open")
    func keptConnection() async throws {
        let transport = try transport()
        let open = Client(transport: transport, stack: [])
        let guarded = Client(
            transport: transport, stack: [.urlPolicy(denyPrivate: .always, resolver: nil)])
        for _ in 0..<3 {
            #expect(try await open.get(Target(url)).string() == "x")
            await expectRefusal(guarded.get(Target(url)))
        }
        #expect(server.counts.requests == 3)
    }

    @Test(
        "A refused address is passed over, and an allowed one is used",
        arguments: [["127.0.0.9", "127.0.0.1"], ["127.0.0.1", "127.0.0.9"]])
    func severalAddresses(addresses: [String]) async throws {
        let client = Client(
            transport: try transport(addresses) { $0.connectTimeout = .seconds(600) }, stack: [])
        let response = try await call(client, refusing: ["127.0.0.9"]).response()
        #expect(response.status == 200)
        #expect(response.timeline.peerAddress == "127.0.0.1")
    }

    @Test("If an allowed address was tried in vain, its failure is told")
    func deadAddress() async throws {
        // Nobody listens at the second one.
        let client = Client(transport: try transport(["127.0.0.1", "127.0.0.9"]), stack: [])
        let error = await #expect(throws: ClientError.self) {
            try await call(client, refusing: ["127.0.0.1"]).data()
        }
        #expect(error?.code == .connection)
        await expectRefusal(try call(client, refusing: ["127.0.0.1", "127.0.0.9"]))
        #expect(server.counts.accepted == 0)
    }

    @Test("The address of a connect target is judged, and a Unix socket has none")
    func targets() async throws {
        let client = Client(transport: try transport(), stack: [])
        let origin = "http://a.invalid/"
        #expect(try await call(client, origin, at: target, refusing: []).string() == "x")
        await expectRefusal(try call(client, origin, at: target, refusing: ["127.0.0.1"]))
        await expectRefusal(try call(client, origin, at: .unixSocket("/x"), refusing: []))
        #expect(server.counts.requests == 1)
    }

    @Test("What a proxy connects to is not asked about; what it has as an exception is")
    func proxies() async throws {
        server.route("http://other.example/", .ok(text: "proxied"))
        var proxy = CurlTransport.Proxy(host: "127.0.0.1", port: server.port)
        proxy.exceptions = ["name.example"]
        let client = Client(transport: try transport { $0.proxy = .through(proxy) }, stack: [])
        for _ in 0..<2 {
            let proxied = try call(client, "http://other.example/", refusing: ["127.0.0.1"])
            #expect(try await proxied.string() == "proxied")
            await expectRefusal(try call(client, refusing: ["127.0.0.1"]))
            #expect(try await client.get(Target(url)).string() == "x")
        }
    }

    @Test("The transport's own socket is not asked about")
    func ownSocket() async throws {
        let socket = try UnixServer()
        defer { socket.stop() }
        let transport = try transport { $0.unixSocket = socket.path }
        #expect(!transport.capabilities.contains(.addressRules))
        let client = Client(transport: transport, stack: [])
        let call = try call(client, "http://a.invalid/", refusing: ["127.0.0.1"])
        #expect(try await call.string() == "/ at a.invalid")
    }

    @Test("A refusal leaves the handle and the connection to others")
    func afterwards() async throws {
        let client = Client(transport: try transport(), stack: [])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    guard number.isMultiple(of: 2) else {
                        return await expectRefusal(try call(client, refusing: ["127.0.0.1"]))
                    }
                    #expect(try await call(client, refusing: []).string() == "x")
                }
            }
            try await group.waitForAll()
        }
        #expect(server.counts.requests == 100)
    }
}
