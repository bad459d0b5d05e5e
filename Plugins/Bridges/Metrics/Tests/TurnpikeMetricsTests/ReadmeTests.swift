// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Foundation
import Testing
import Turnpike
import TurnpikeMetrics
import TurnpikeTraffic

// The example of the README. A test compares the README with this file.

func makeClient(factory: any MetricsFactory) -> Client {
    MetricsSystem.bootstrap(factory)  // once in a process, before the recorder
    let recorder = MetricsSystemRecorder()
    return Client(
        baseURL: "https://api.example.com/v1/",
        stack: [
            .deadline(.seconds(30)), .validate(), .redirect(), .retry(attempts: 3),
            .circuitBreaker(meter: recorder), .metrics(recorder), .attemptTimeout(.seconds(10)),
            .limits(),
        ])
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
