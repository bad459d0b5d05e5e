// SPDX-License-Identifier: Apache-2.0

import Testing
import Turnpike
import TurnpikeTesting

@Suite("The transport of a client that names none")
struct DefaultTransportTests {
    private func notes(of make: (Target, Stack) -> Client) async throws -> [String] {
        let server = try TestServer()
        server.route("/x", .ok(text: "x"))
        let sink = MemoryLogSink()
        let client = make(server.target, [.log(to: sink)])
        for _ in 0..<3 { _ = try await client.get("x").string() }
        await client.shutdown()
        return sink.lines.filter { $0.contains("CurlTransport") }
    }

    @Test("On Linux, its log says once what a server can do, and how to change it")
    func told() async throws {
        let byList = try await notes { Client(baseURL: $0, stack: $1) }
        let byBuilder = try await notes { base, stack in
            Client(baseURL: base) { for gate in stack.gates { gate } }
        }
        #if canImport(FoundationNetworking)
        for lines in [byList, byBuilder] {
            #expect(lines.count == 1, "\(lines)")
            #expect(lines.first?.contains("Client: sends over URLSession") == true)
        }
        #else
        #expect(byList.isEmpty && byBuilder.isEmpty)
        #endif
    }

    @Test("Nothing is said of a transport that was chosen")
    func chosen() async throws {
        let lines = try await notes {
            Client(baseURL: $0, transport: URLSessionTransport(), stack: $1)
        }
        #expect(lines.isEmpty)
    }

    @Test("A client prints its base URL without secrets, its transport and its gates")
    func printed() {
        let client = Client(
            baseURL: "https://u:p@a.test/?token=s3cret", transport: MockTransport([]),
            stack: [.deadline(), .retry()])
        #expect("\(client)".hasSuffix(" over MockTransport:\n1. Deadline\n2. Retry"))
        #expect("\(client)".hasPrefix("Client for https://"))
        #expect(!"\(client)".contains("s3cret") && !"\(client)".contains("u:p"))
        var dumped = ""
        dump(client, to: &dumped)
        #expect(dumped.contains("MockTransport") && !dumped.contains("s3cret"))
        let bare = Client(transport: MockTransport([]), stack: [])
        #expect("\(bare)" == "Client over MockTransport:\nno gates")
    }
}
