// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeAuthentication
import TurnpikeInspection

/// The cookbook shows the code of this folder, each recipe with the test that runs it.
@Suite("The cookbook")
struct CookbookTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../..").standardizedFileURL
    private static let articles = root.appending(path: "Sources/Turnpike/Documentation.docc")
    private static let folders = ["Tests/TurnpikeTests/Cookbook", "Tests/CurlTests/Cookbook"]

    static let pages = [
        "CookbookRequests", "CookbookIdentity", "CookbookSignatures", "CookbookTransfers",
        "CookbookResilience", "CookbookConnections", "CookbookOperation",
    ]

    private func article(_ name: String) throws -> String {
        try String(contentsOf: Self.articles.appending(path: name + ".md"), encoding: .utf8)
    }

    /// The sources of the folders, by their names.
    private func sources() throws -> [String: String] {
        var found: [String: String] = [:]
        for folder in Self.folders.map({ Self.root.appending(path: $0) }) {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path())
            where name.hasSuffix(".swift") {
                found[name] = try String(
                    contentsOf: folder.appending(path: name), encoding: .utf8)
            }
        }
        return found
    }

    // Where a line breaks, and a comma behind the last element, are the formatter's choice.
    private func bare(_ text: some StringProtocol) -> String {
        String(text.filter { !$0.isWhitespace })
            .replacing(",]", with: "]").replacing(",)", with: ")")
    }

    /// The recipes of a page: the heading, and what stands below it.
    private func recipes(_ page: String) throws -> [(title: String, text: String)] {
        try article(page).components(separatedBy: "\n### ").dropFirst().map { recipe in
            let lines = recipe.split(separator: "\n", maxSplits: 1)
            return (String(lines[0]), String(lines.dropFirst().first ?? ""))
        }
    }

    @Test("Each recipe is short, compiled, and run by the test that it names", arguments: pages)
    func recipes(page: String) throws {
        let sources = try sources()
        let code = bare(sources.values.joined())
        for recipe in try recipes(page) {
            let blocks = recipe.text.components(separatedBy: "```swift\n").dropFirst()
                .compactMap { $0.components(separatedBy: "```").first }
            #expect(!blocks.isEmpty, "\(recipe.title)")
            for block in blocks {
                #expect(code.contains(bare(block)), "\(block)")
                #expect(block.split(separator: "\n").count <= 26, "\(recipe.title)")
            }
            let tests = recipe.text.matches(of: #/Test: `(\w+)\(\)`\s+in\s+`([\w\/]+\.swift)`/#)
            #expect(tests.count == 1, "\(recipe.title)")
            for test in tests {
                let name = test.2.split(separator: "/").last.map(String.init) ?? ""
                let path = Self.root.appending(path: String(test.2)).path()
                #expect(FileManager.default.fileExists(atPath: path), "\(test.2)")
                #expect(sources[name]?.contains("func \(test.1)(") == true, "\(test.1)")
            }
        }
    }

    @Test("Its first page names each recipe, with a link")
    func contents() throws {
        let contents = try article("Cookbook")
        var count = 0
        for page in Self.pages {
            for recipe in try recipes(page) {
                count += 1
                let anchor = recipe.title.replacing(" ", with: "-").replacing(",", with: "")
                #expect(contents.contains("<doc:\(page)#\(anchor)>"), "\(page)#\(anchor)")
            }
        }
        #expect(count >= 30)
        let links = contents.components(separatedBy: "<doc:Cookbook").count - 1
        #expect(links == count + 2 * Self.pages.count)
    }

    @Test("The linter finds nothing in the stacks of the recipes")
    func stacks() throws {
        let transport = MockTransport { _ in .ok() }
        let endpoint = TokenEndpoint("https://id.example.com/token")
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let clients = [
            makeSnakeCaseClient(transport),
            try makeKeyClient(["ORDERS_API_KEY": "k"], transport),
            makeServiceClient(endpoint, transport),
            makeWebhookClient(key: Data("k".utf8), transport),
            makeReadClient(transport), makeOfflineClient(folder.path(), transport),
            makeSuggestionClient(transport), makePreviewClient(transport),
            makeUsersClient(from: .list(["10.0.0.1:80"]), transport),
            makeThumbnailClient(from: .list(["10.0.0.1:80"]), transport),
            makeLoggedClient(MemoryLogSink(), transport),
            makeMeasuredClient(MetricsStore(), transport), makeTracedClient(transport),
        ]
        for client in clients {
            #expect(client.fault == nil)
            let findings = client.stack.lint(for: transport)
            #expect(findings.isEmpty, "\(client.stack.gates.map(\.gateName)): \(findings)")
        }
    }
}
