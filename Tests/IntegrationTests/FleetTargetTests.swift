// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

@Suite(
    "Connect targets with five nginx", .serialized, .oneAtATime,
    .needs("nginx and scripts/test --integration", if: Peers.fleet?["plain5"] != nil))
struct FleetTargetTests {
    private let peers: Peers

    init() throws { peers = try #require(Peers.fleet) }

    private func client(_ http2: CurlTransport.HTTP2 = .automatic) throws -> Client {
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(peers.authority.path())
        configuration.http2 = http2
        return Client(transport: try CurlTransport(configuration: configuration), stack: [])
    }

    private func call(_ client: Client, _ url: String, at target: ConnectTarget) throws -> Call {
        var request = Request(.get, try #require(URL(string: url)))
        request.options.connectTarget = target
        return client.request(request)
    }

    /// The words of an answer: the number of the nginx, what it saw, and its connection's number.
    private func words(_ call: Call) async throws -> [String] {
        try await call.string().split(separator: " ").map(String.init)
    }

    @Test("Connections are kept for each address, and for each Unix socket")
    func reuse() async throws {
        let client = try client()
        var connections: [String: Set<String>] = [:]
        for _ in 0..<5 {
            for number in 1...5 {
                let places = [
                    try #require(peers.target("plain\(number)")),
                    ConnectTarget.unixSocket(try #require(peers["socket\(number)"])),
                ]
                for place in places {
                    let words = try await words(call(client, "http://users.internal/", at: place))
                    #expect(words.prefix(2) == ["\(number)", "users.internal"])
                    connections["\(place)", default: []].insert(words[2])
                }
            }
        }
        #expect(connections.count == 10)
        #expect(connections.values.allSatisfy { $0.count == 1 }, "\(connections)")
    }

    /// The version by which endpoints are asked if HTTP/2 is offered: not that with a libcurl that
    /// would mix up their connections.
    private func offeredVersion() throws -> String {
        try CurlTransport().offersHTTP2 ? "HTTP/2.0" : "HTTP/1.1"
    }

    @Test(
        "One certificate for the logical name serves all addresses, over either version",
        arguments: [CurlTransport.HTTP2.on, .off])
    func certificate(http2: CurlTransport.HTTP2) async throws {
        let client = try client(http2)
        let version = http2 == .on ? try offeredVersion() : "HTTP/1.1"
        var connections: [String: Set<String>] = [:]
        try await withThrowingTaskGroup(of: [String].self) { group in
            for number in 1...5 {
                let target = try #require(peers.target("secure\(number)"))
                let call = try call(client, "https://users.internal/", at: target)
                for _ in 0..<20 {
                    group.addTask {
                        let words = try await words(call)
                        let seen = ["\(number)", "users.internal", "users.internal", version]
                        #expect(Array(words.prefix(4)) == seen)
                        return words
                    }
                }
            }
            for try await words in group { connections[words[0], default: []].insert(words[4]) }
        }
        // Calls that began at once share a connection over HTTP/2, which a burst may miss once.
        if version == "HTTP/2.0" { #expect(connections.values.allSatisfy { $0.count <= 2 }) }
        // It is the name of the URL that the certificate must have, not that of the address.
        let target = try #require(peers.target("secure2"))
        let error = await #expect(throws: ClientError.self) {
            try await call(client, "https://other.internal/", at: target).data()
        }
        #expect(error?.code == .tls)
        #expect(error?.message.contains("(at \(target))") == true)
    }

    @Test("A rule refuses one stream of a connection that others share")
    func rule() async throws {
        let client = try client(.on)
        let version = try offeredVersion()
        let target = try #require(peers.target("secure1"))
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    var request = Request(.get, Target("https://users.internal/?id=\(number)"))
                    request.options.connectTarget = target
                    let isRefused = number.isMultiple(of: 2)
                    request.options.addressRule = AddressRule { _ in !isRefused }
                    do {
                        let text = try await client.request(request).string()
                        return !isRefused && text.contains(version)
                    } catch let error as ClientError {
                        return isRefused && error.code == .urlPolicy
                            && error.transfer?.isUnsent == true
                    }
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}

extension Peers {
    /// An address that a script has printed, as a connect target.
    func target(_ name: String) -> ConnectTarget? {
        guard let parts = self[name]?.split(separator: ":"), parts.count == 2,
            let port = Int(parts[1])
        else { return nil }
        return .host(String(parts[0]), port: port)
    }
}
