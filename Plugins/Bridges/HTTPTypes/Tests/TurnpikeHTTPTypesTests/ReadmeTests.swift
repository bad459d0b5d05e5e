// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

// The example of the README. A test compares the README with this file.
import HTTPTypes
import Turnpike
import TurnpikeHTTPTypes

private func readme(_ client: Client) async throws -> String {
    let request = HTTPRequest(
        method: .post, scheme: "https", authority: "api.example.com", path: "/v1/users",
        headerFields: [.accept: "application/json"])
    let (response, body) = try await client.send(request, body: .json(["name": "Ada"]))
    guard response.status.kind == .successful else { return "refused: \(response.status)" }
    let content = try await body.collect(upTo: 1_000_000)
    let trailers = try HTTPFields(body.trailers)  // once the content was read
    return "\(content.count) bytes, \(trailers.count) trailers"
}

@Suite("README")
struct ReadmeTests {
    private let here = URL(filePath: #filePath)

    @Test("Its code is compiled here, and runs")
    func code() async throws {
        // The README and the formatter may break lines in different places.
        func bare(_ text: String) -> String { text.filter { !$0.isWhitespace } }
        let compiled = bare(try String(contentsOf: here, encoding: .utf8))
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let blocks = text.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        #expect(!blocks.isEmpty)
        for block in blocks { #expect(compiled.contains(bare(block)), "\(block)") }

        let transport = MockTransport { _ in .ok(text: "1234").followed(by: ["X-Sum": "4"]) }
        let client = Client(transport: transport, stack: [])
        #expect(try await readme(client) == "4 bytes, 1 trailers")
    }
}
