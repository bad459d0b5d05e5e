// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeEndpoints

@testable import TurnpikeCurl

@Suite(
    "Endpoints with five nginx", .serialized, .oneAtATime,
    .needs("nginx and scripts/test --integration", if: Peers.fleet?["plain5"] != nil))
struct EndpointFleetTests {
    private let peers: Peers

    init() throws { peers = try #require(Peers.fleet) }

    /// A client of the five, in the order of the gates that the documentation advises.
    private func client(
        _ scheme: String, with gates: [any Gate] = [], load: FleetLoad? = nil,
        _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(peers.authority.path())
        configure(&configuration)
        let port = scheme == "https" ? "secure" : "plain"
        let addresses = try (1...5).map { "\(try #require(peers.target("\(port)\($0)")))" }
        let counted: [any Gate] = load.map { [FleetLoad.AttemptCount(load: $0)] } ?? []
        return Client(
            transport: try CurlTransport(configuration: configuration),
            stack: Stack(
                [.deadline(.seconds(50)), .validate()] + gates + [.retry()] + counted + [
                    .attemptTimeout(.seconds(2)),
                    .endpoints(for: "users.internal", from: .list(addresses), meter: load),
                ]))
    }

    @Test(
        "All five share the calls for their name, with its certificate",
        arguments: [CurlTransport.HTTP2.on, .off])
    func secure(http2: CurlTransport.HTTP2) async throws {
        let client = try client("https") { $0.http2 = http2 }
        var seen: Set<Substring> = []
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<500 {
                if number >= 10, let text = try await group.next() {
                    seen.insert(text.prefix(1))
                    #expect(text.contains(" users.internal users.internal "))
                }
                group.addTask { try await client.get("https://users.internal/").string() }
            }
            for try await text in group { seen.insert(text.prefix(1)) }
        }
        #expect(seen == ["1", "2", "3", "4", "5"])
    }

    /// http goes over HTTP/1.1, https over HTTP/2 with a libcurl whose HTTP/2 is sound.
    @Test(
        "One hangs and all restart in turn: no call with a key is lost, none without is doubled",
        arguments: ["http", "https"])
    func restarts(scheme: String) async throws {
        let load = FleetLoad(scheme)
        let plain = try client(scheme, load: load)
        let keyed = try client(scheme, with: [.idempotencyKey()], load: load)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (kind, client, callers) in [
                (FleetLoad.Kind.get, plain, 24), (.keyed, keyed, 4), (.plain, plain, 4),
            ] {
                for _ in 0..<callers { group.addTask { await load.run(kind, over: client) } }
            }
            group.addTask { await disturb(load) }
            try await group.waitForAll()
        }
        // What a server has taken in is in its log once it has ended in order.
        for number in 1...5 { await peers.nginx("reopen \(number)") }
        check(load, servers: try log())
    }

    private func check(_ load: FleetLoad, servers: [String: [String]]) {
        let results = load.results
        var repeated = 0
        var failures: [String: Int] = [:]
        for (kind, count) in FleetLoad.counts {
            for number in 0..<count {
                let id = load.id(of: kind, number)
                let keys = servers[id] ?? []
                switch results[id] {
                case .success?: #expect(keys.count >= 1, "\(id) was answered by nobody")
                case .failure(let error)?:
                    // Only a request that may not be repeated may fail, and its error says whether a
                    // server may have acted on it.
                    #expect(kind == .plain, "\(id) was lost: \(error)")
                    let isUnsent = (error as? ClientError)?.transfer?.isUnsent
                    #expect(isUnsent == false || (isUnsent == true && keys.isEmpty), "\(error)")
                    let code = (error as? ClientError)?.code
                    failures[code.map { "\($0)" } ?? "\(error)", default: 0] += 1
                case nil: Issue.record("\(id) has not ended")
                }
                if kind == .plain { #expect(keys.count <= 1, "\(id) was sent \(keys.count) times") }
                if kind == .keyed {
                    #expect(Set(keys).count == 1 && keys.first != "-", "\(id) had the keys \(keys)")
                    if keys.count > 1 { repeated += 1 }
                }
            }
        }
        print(
            "endpoints: \(load.report); POSTs with a key that servers had twice: \(repeated);"
                + " POSTs without a key that failed: \(failures)")
    }

    /// Stops one of them until it is ejected; then stops each for a moment, and ends and starts it,
    /// in order or at once.
    ///
    /// How far the load has come decides when.
    private func disturb(_ load: FleetLoad) async {
        await load.reach(1_000)
        await peers.nginx("pause 1")
        load.didStop()
        await load.reachEjection()
        await peers.nginx("resume 1")
        for number in 1...5 {
            await load.reach(4_000 * number)
            await peers.nginx("pause \(number)")
            await load.reach(4_000 * number + 1_000)
            await peers.nginx("resume \(number)")
            await peers.nginx("reopen \(number)")
            await load.reach(4_000 * number + 2_000)
            await peers.nginx("restart \(number)")
        }
    }

    /// The keys of the requests that the servers have taken in, by the requests' names.
    private func log() throws -> [String: [String]] {
        var requests: [String: [String]] = [:]
        for number in 1...5 {
            let file = peers.folder.appending(path: "access-\(number).log")
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let parts = line.split(separator: " ").map(String.init)
                if parts.count == 3 { requests[parts[1], default: []].append(parts[2]) }
            }
        }
        return requests
    }
}
