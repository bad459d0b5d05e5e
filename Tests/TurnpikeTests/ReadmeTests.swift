// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeTesting

// What the README shows; a test holds its code against this file.
import Turnpike

struct User: Codable, Sendable { var id: Int; var name: String }

private func readme() async throws {
    let client = Client(
        baseURL: "https://api.example.com/v1/",
        stack: [
            .log(to: .standardError), .deadline(.seconds(30)), .validate(), .redirect(),
            .retry(attempts: 3),
            .attemptTimeout(.seconds(10)), .limits(),
        ])
    let user = try await client.get("users/1").decode(User.self)
    let page = try await client.get("search", query: ["q": "swift", "tags": ["a", "b"]]).string()
    try await client.post("users", json: User(id: 2, name: "Ada")).validate(status: [201]).empty()
    await client.shutdown(grace: .seconds(5))  // lets calls end, then closes everything
    _ = (user, page)
}

private struct TenantHeader: SynchronousRequestAdapter {
    func adapt(_ request: inout Request, context: Context) { request.headers["X-Tenant"] = "blue" }
}

private func makeClient() -> Client {
    let client = Client(transport: MockTransport { request in .ok(json: ["id": 1]) }) {
        Validate()
        Retry(attempts: 3)
        TenantHeader()
    }
    return client
}

@Suite("README")
struct ReadmeTests {
    private let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The code between fences of a language.
    private func blocks(_ language: String) throws -> [String] {
        try text("README.md").components(separatedBy: "```\(language)\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
    }

    @Test("Its code is compiled here")
    func code() throws {
        // Where a line breaks is the formatter's choice, and the README's.
        func bare(_ text: String) -> String { text.filter { !$0.isWhitespace } }
        let here = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let compiled = here.split(separator: "\n")
            .filter { !$0.hasPrefix("private func") && $0 != "}" }.joined(separator: "\n")
        let blocks = try blocks("swift")
        #expect(blocks.count == 2)
        for block in blocks {
            let shown = block.split(separator: "\n").filter { $0 != "}" }.joined(separator: "\n")
            #expect(bare(compiled).contains(bare(shown)), "\(block)")
        }
    }

    @Test("The second example does what it shows")
    func second() async throws {
        #expect(try await makeClient().get("https://a.example/").json()["id"] == 1)
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport) { TenantHeader() }
        try await client.get("https://a.example/").empty()
        #expect(transport.sent.first?.request.headers["X-Tenant"] == "blue")
    }

    @Test("Its commands are those of the package, and the tests' command is that of CI")
    func commands() throws {
        let manifest = try text("Package.swift")
        let lines = try blocks("sh").joined().split(separator: "\n").map(String.init)
        for line in lines where line.hasPrefix("swift run ") {
            let name = line.replacing("-c release ", with: "").split(separator: " ")[2]
            #expect(manifest.contains("name: \"\(name)\""), "\(line)")
            #expect(name != "turnpike" || line.contains("-c release"), "\(line)")
        }
        let test = try #require(lines.first { $0.hasPrefix("swift test") })
        let command = test.prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces)
        #expect(try text(".ci/run").contains(" \(command)"))
        let product = ".product(name: \"Turnpike\", package: \"turnpike\")"
        #expect(try text("README.md").contains(product))
        #expect(try text("Examples/Plugin/Package.swift").contains(product))
    }

    @Test("It names each product, and its links lead to files")
    func products() throws {
        let readme = try text("README.md")
        let names = try text("Package.swift").matches(
            of: #/\.(?:library|executable)\(\s*name: "([^"]+)"/#
        ).map(\.1)
        #expect(names.count > 7)
        for name in names { #expect(readme.contains("`\(name)`"), "\(name)") }
        let links = readme.matches(of: #/\]\(([^)\s]+)\)/#).map { String($0.1) }
        #expect(links.count > 40)
        for link in links {
            #expect(
                FileManager.default.fileExists(atPath: root.appending(path: link).path()), "\(link)"
            )
        }
    }

    @Test("It and the article on the gates name each gate")
    func gates() throws {
        let readme = try text("README.md")
        let article = try text("Sources/Middleware/Documentation.docc/TheGates.md")
        var count = 0
        for folder in [
            "Sources/Middleware", "Plugins/Authentication", "Plugins/Cache", "Plugins/Endpoints",
            "Plugins/Reachability",
        ] {
            let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path())
            for case let name as String in names ?? .init() where name.hasSuffix(".swift") {
                for gate in try text("\(folder)/\(name)")
                    .matches(of: #/extension Gate where Self == (\w+) /#).map(\.1)
                {
                    count += 1
                    #expect(readme.contains("[\(gate)](\(folder)/\(name))"), "\(gate)")
                    #expect(article.contains("`\(gate)`"), "\(gate)")
                }
            }
        }
        #expect(count > 30)
    }
}
