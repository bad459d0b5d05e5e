// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeStackFiles
import TurnpikeTesting

/// The settings of each gate and transport that a stack file may name.
@Suite("Stack files with the standard registry")
struct StackFileGateTests {
    private func mistakes(_ file: JSONValue) throws -> [String] {
        try StackFile(file).check(with: .standard).map(\.description)
    }

    @Test(
        "A value that its type and its bounds allow can still be a mistake, with its path",
        arguments: [
            (["use": "retry", "statuses": [503, 99]], "statuses[1]: expected a status from 100"),
            (["use": "retry", "methods": "GET"], "methods: found a string"),
            (["use": "validate", "status": 200], "status: found a number; expected an array"),
            (["use": "validate", "status": [[299, 200]]], "status[0]: expected a status or a"),
            (["use": "validate", "contentType": "any"], "contentType: "),
            (["use": "validate", "contentType": ["text"]], "contentType[0]: expected a media"),
            (["use": "headers", "set": [["A", "1\r\n2"]]], "set[0]: "),
            (["use": "headers", "set": ["A"]], "set[0]: expected a pair"),
        ] as [(JSONValue, String)])
    func mistake(gate: JSONValue, expected: String) throws {
        let found = try mistakes(["stack": [["use": "deadline"], gate]])
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("stack[1]." + expected) == true, "\(found)")
    }

    @Test("A setting that URLSession does not support is an error by name")
    func unsupported() throws {
        let transport: JSONValue = [
            "use": "urlsession", "maxConnectionsPerHost": 4, "trust": ["ca": "x"], "proxy": "x",
            "unixSocket": "x", "http2": true,
        ]
        let issues = try StackFile(["transport": transport]).check(with: .standard)
        #expect(issues.allSatisfy { $0.kind == .unsupported })
        #expect(
            Set(issues.map(\.path)) == [
                "transport.trust", "transport.proxy", "transport.unixSocket", "transport.http2",
            ])
        let error = #expect(throws: ClientError.self) {
            try ConfiguredClient(StackFile(["transport": transport]))
        }
        #expect(error?.code == .unsupported)
    }

    @Test("The preset is the default stack of a client")
    func preset() throws {
        let file = try ConfiguredClient(StackFile(["stack": "standard"]))
        #expect(file.client.stack.gates.map(\.gateName) == Client().stack.gates.map(\.gateName))
        let missing = try ConfiguredClient(StackFile([:]))
        #expect(missing.client.stack.gates.map(\.gateName) == Client().stack.gates.map(\.gateName))
    }

    @Test("Bodies are compressed as the file says")
    func compressed() async throws {
        let file = try StackFile([
            "transport": ["use": "mock"],
            "stack": [["use": "compressBodies", "coding": "deflate", "minimum": 100]],
        ])
        let client = try ConfiguredClient(file).client
        for count in [99, 100] {
            let body = RequestBody.data(Data(repeating: 0x61, count: count))
            _ = try await client.post("http://a.example/", body: body).response()
        }
        let sent = try #require(client.transport as? MockTransport).sent
        #expect(sent.map { $0.request.headers[.contentEncoding] } == [nil, "deflate"])
        // zlib's framing: deflate in a window of 32 KiB (RFC 1950 §2.2).
        #expect(sent[0].body.count == 99 && sent[1].body.first == 0x78 && sent[1].body.count < 50)
    }
}
