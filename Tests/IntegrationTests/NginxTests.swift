// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeDownloads

@Suite(
    "With nginx", .serialized, .oneAtATime,
    .needs("nginx and scripts/test --integration", if: Peers.shared?.nginx != nil))
struct NginxTests {
    private struct User: Codable, Sendable, Equatable {
        var id: Int
        var name: String
    }

    private let peers: Peers
    private let base: String

    init() throws {
        peers = try #require(Peers.shared)
        base = try #require(peers.nginx)
    }

    private func client(_ stack: Stack = .standard) -> Client {
        Client(baseURL: Target(base), stack: stack)
    }

    @Test("The quickstart does its job")
    func quickstart() async throws {
        let said = try await Program("quickstart").output(
            [base + "a.json"], within: .seconds(60))
        #expect(said.contains("\"name\":\"Ada\""), "\(said)")
        #expect(said.contains("100 %"))
        #expect(said.contains("GET 200: 2 calls"))
        #expect(said.contains("the mock was asked 2 times"))
    }

    @Test("JSON that comes compressed becomes a value")
    func decoded() async throws {
        let client = client()
        #expect(try await client.get("a.json").decode(User.self) == User(id: 1, name: "Ada"))
        let value = try await client.get("a.json").json()
        #expect(value["padding"]?.string?.count == 500)
    }

    @Test("A redirect is followed, and told")
    func redirect() async throws {
        let response = try await client().get("moved").response()
        #expect(response.url.path() == "/a.json")
        #expect(response.hops.map(\.status) == [301])
    }

    @Test("A large file comes whole, and a range of it exactly")
    func downloads() async throws {
        let expected = try Data(contentsOf: peers.folder.appending(path: "files/big.bin"))
        let client = client()
        let whole = try await client.get("big.bin").data()
        #expect(whole == expected)
        let part = try await client.get("big.bin").header(.range, "bytes=1000-1999").response()
        #expect(part.status == 206)
        #expect(try await part.body.collect(upTo: 2000) == expected[1000..<2000])
    }

    @Test("A download that was stopped is taken up where it was, into the same file")
    func resumedDownload() async throws {
        let expected = try Data(contentsOf: peers.folder.appending(path: "files/big.bin"))
        let file = FileManager.default.temporaryDirectory.appending(
            path: "turnpike-" + UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let running = client().get("big.bin").startDownload(to: .file(file))
        for await progress in running.progress where progress.bytesReceived > 0 { break }
        let left = await running.stop()
        if let left {
            let whole = try await client().get("big.bin").download(
                to: .file(file), options: DownloadOptions(resumeData: left))
            #expect(whole.resumedFrom > 0)
        }
        #expect(try Data(contentsOf: file) == expected)
    }

    @Test("A large header section comes whole, and one is taken")
    func largeHeaders() async throws {
        let client = client()
        let response = try await client.get("large").response()
        let large = response.headers.filter { $0.name.rawValue.hasPrefix("X-Large") }
        #expect(large.count == 14)
        #expect(large.allSatisfy { $0.value.count == 3900 })
        let value = String(repeating: "x", count: 30_000)
        #expect(try await client.get("headers").header("X-Large", value).string() == value)
    }

    @Test("A server that closes connections after seven requests costs none of them")
    func keepAliveChurn() async throws {
        let client = client([])
        var connections: Set<String> = []
        for _ in 0..<200 { connections.insert(try await client.get("connection").string()) }
        // Each connection carries up to seven requests: fewer would be no reuse.
        #expect((28...60).contains(connections.count), "\(connections.count)")
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await client.get("connection").string() } }
            for try await _ in group {}
        }
    }

    @Test("Calls outlive a server that reloads and restarts under load")
    func restarts() async throws {
        let client = client([
            .deadline(.seconds(60)), .validate(), .retry(attempts: 10, budget: nil),
        ])
        let load = Task {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var count = 0
                        while !Task.isCancelled {
                            do {
                                _ = try await client.get("a.json").data()
                                count += 1
                            } catch is CancellationError {
                                break
                            }
                        }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
        }
        for command in ["reload", "restart", "reload", "restart"] {
            await peers.nginx(command)
            // Something goes through behind each of them.
            for _ in 0..<20 { _ = try await client.get("a.json").data() }
        }
        load.cancel()
        #expect(try await load.value > 0)
    }

    @Test("A certificate of an authority that nobody knows is refused as such")
    func unknownAuthority() async throws {
        // With libcurl 8.14, URLSession reports another address of a name that refuses the connection.
        let secure = try #require(peers.secure).replacing("localhost", with: "127.0.0.1")
        let error = await #expect(throws: ClientError.self) {
            try await Client(stack: []).get(Target(secure + "a.json")).data()
        }
        #expect(error?.code == .tls, "\(error as Any)")
    }
}
