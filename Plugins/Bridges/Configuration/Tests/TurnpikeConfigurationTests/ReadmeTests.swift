// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

// The example of the README. A test compares the README with this file.
import Configuration
import Turnpike
import TurnpikeConfiguration

private func readme(_ path: String) async throws {
    let file = ConfigReader(
        provider: InMemoryProvider(values: [
            "filePath": ConfigValue(.string(path), isSecret: false)
        ]))
    let watched = try await ReloadingFileProvider<JSONSnapshot>(config: file)
    let config = ConfigReader(providers: [EnvironmentVariablesProvider(), watched])
    let users = try ReloadingClient(config.scoped(to: "users")) { result in
        if case .failure(let error) = result { print("users: the old stack stays: \(error)") }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await watched.run() }  // looks at the file
        group.addTask { try await users.run() }  // follows the configuration
        let response = try await users.client.get("users/1").response()
        print(response.status)
        group.cancelAll()
    }
}

@Suite("README", .timeLimit(.minutes(2)))
struct ReadmeTests {
    @Test("Its code is compiled here, and runs with its file")
    func code() async throws {
        // The README and the formatter may break lines in different places.
        func bare(_ text: String) -> String { text.filter { !$0.isWhitespace } }
        let here = URL(filePath: #filePath)
        let service = here.deletingLastPathComponent().appending(path: "Following.swift")
        let compiled = bare(
            try String(contentsOf: here, encoding: .utf8)
                + String(contentsOf: service, encoding: .utf8))
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let page = try String(
            contentsOf: root.appending(
                path: "Sources/TurnpikeConfiguration/Documentation.docc/TurnpikeConfiguration.md"),
            encoding: .utf8)
        func blocks(_ language: String, in text: String) -> [String] {
            text.components(separatedBy: "```\(language)\n").dropFirst()
                .compactMap { $0.components(separatedBy: "```").first }
        }
        for text in [text, page] {
            let code = blocks("swift", in: text)
            #expect(!code.isEmpty)
            for block in code { #expect(compiled.contains(bare(block)), "\(block)") }
        }

        let json = try #require(blocks("json", in: text).first)
        let folder = try TemporaryFolder()
        // Sends no request from the machine.
        try folder.write(json.replacing("urlsession", with: "mock"), to: "config.json")
        try await readme(folder.path("config.json"))
    }
}
