// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Synchronization
import Testing
import Turnpike
import TurnpikeLogging

// The example of the README. A test compares the README with this file.

struct User: Codable, Sendable { var id: Int; var name: String }

let client = Client(
    baseURL: "https://api.example.com/v1/",
    stack: [
        .log(to: LoggerSink()), .deadline(.seconds(30)), .validate(), .redirect(),
        .retry(attempts: 3),
        .attemptTimeout(.seconds(10)), .limits(),
    ])

func user(_ id: Int) async throws -> User {
    try await withLogger(mergingMetadata: ["request.id": "\(id)"]) { _ in
        try await client.get("users/\(id)").decode(User.self)  // logged with request.id
    }
}

@Suite("README")
struct ReadmeTests {
    @Test("Its code is compiled here")
    func code() throws {
        // The formatter may break lines in different places.
        func bare(_ text: String) -> String { text.filter { !$0.isWhitespace } }
        let here = URL(filePath: #filePath)
        let readme = here.deletingLastPathComponent().appending(path: "../../README.md")
        let shown = try String(contentsOf: readme, encoding: .utf8)
            .components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        let compiled = bare(try String(contentsOf: here, encoding: .utf8))
        #expect(shown.count == 1)
        for block in shown {
            let code = block.split(separator: "\n").filter { !$0.hasPrefix("import") }
            #expect(compiled.contains(bare(code.joined())), "\(block)")
        }
    }
}
