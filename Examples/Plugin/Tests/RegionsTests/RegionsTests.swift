// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeRegions
import TurnpikeStackFiles
import TurnpikeTesting

@Suite("Regions")
struct RegionsTests {
    private let eu = MockTransport { _ in
        throw ClientError(.connection, "down", transfer: .init(.connecting))
    }
    private let us = MockTransport { _ in .ok(text: "from us") }

    private func client(_ stack: Stack) -> Client {
        Client(
            transport: RegionalTransport(
                home: MockTransport { _ in .ok(text: "home") }, regions: ["eu": eu, "us": us]),
            stack: stack)
    }

    @Test("Where a region cannot be reached the other one answers, and the field stays at home")
    func otherRegion() async throws {
        let text = try await client([.prefer("eu", otherwise: "us")])
            .get("http://a.example/").string()
        #expect(text == "from us")
        #expect(eu.sentCount == 1)
        #expect(us.sent.first?.request.headers[PreferRegion.field] == nil)
    }

    @Test("What one of the transports declares is true of all together")
    func declarations() {
        struct Other: Transport {
            let capabilities: TransportCapabilities = []
            let canEndProcess = true
            func send(_ request: Request, context: Context) async throws -> Response {
                throw ClientError(.unsupported, "sends nothing")
            }
            func shutdown() async {}
        }
        let mocks = RegionalTransport(home: us, regions: ["eu": eu])
        #expect(!mocks.provesClient && !mocks.canEndProcess)
        let mixed = RegionalTransport(home: us, regions: ["eu": Other()])
        #expect(mixed.provesClient && mixed.canEndProcess)
    }

    @Test("A stack file can name the gate, and the reference describes it")
    func stackFile() throws {
        var registry = Registry.standard
        registry.registerRegions()
        #expect(registry.checkReference().isEmpty)
        let gate: JSONValue = ["use": "prefer", "region": "eu"]
        let issues = try StackFile(["stack": [gate]]).check(with: registry)
        #expect(issues.map(\.path) == ["stack[0].otherwise"])
    }

    @Test("A region that is not there is named as a fault, with those that are")
    func unknownRegion() async throws {
        let error = await #expect(throws: ClientError.self) {
            try await client([.prefer("asia", otherwise: "mars")])
                .get("http://a.example/").string()
        }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("eu, us") == true)
    }

    @Test("Quotes and commas in fields are read, rows of other lengths refused")
    func csv() throws {
        let head = ResponseHead(status: 200, url: URL(filePath: "/"))
        let rows = try CSVSerializer().serialize(Data("a,\"b,c\"\n\"d\"\"e\",f".utf8), of: head)
        #expect(rows == [["a", "b,c"], ["d\"e", "f"]])
        #expect(throws: CSVFault.self) {
            try CSVSerializer().serialize(Data("a,b\nc".utf8), of: head)
        }
    }
}
