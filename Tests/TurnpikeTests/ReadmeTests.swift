import Foundation
import Testing
import TurnpikeTesting

// What the README shows, between the two marks; a test holds the two texts against each other.

// README begins
import Turnpike

struct User: Codable, Sendable { var id: Int; var name: String }

private func readme() async throws {
    let client = Client(
        baseURL: "https://api.example.com/v1/",
        stack: [
            .log(to: .standardError), .deadline(.seconds(30)), .validate(), .redirect(),
            .retry(attempts: 3),
            .attemptTimeout(.seconds(10)),
        ])
    let user = try await client.get("users/1").decode(User.self)
    let page = try await client.get("search", query: ["q": "swift", "tags": ["a", "b"]]).string()
    try await client.post("users", json: User(id: 2, name: "Ada")).validate(status: [201]).empty()
    // README ends
    _ = (user, page)
}

private struct TenantHeader: SynchronousRequestAdapter {
    func adapt(_ request: inout Request, context: Context) { request.headers["X-Tenant"] = "blue" }
}

@Suite("README")
struct ReadmeTests {
    @Test("The example in twelve lines is the code that is compiled here")
    func example() throws {
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let block = try #require(
            readme.split(separator: "```swift\n").first { $0.hasPrefix("import Turnpike") }?
                .split(separator: "```").first)
        // Where a line breaks is the formatter's choice, and the README's.
        func bare(_ text: some StringProtocol) -> String {
            String(text.filter { !$0.isWhitespace })
        }
        let source = try String(contentsOf: here, encoding: .utf8)
        let begin = try #require(source.firstRange(of: "// README begins\n")).upperBound
        let end = try #require(source.firstRange(of: "// README ends\n")).lowerBound
        let compiled = source[begin..<end].split(separator: "\n")
            .filter { !$0.hasPrefix("private func readme") }.joined()
        #expect(bare(block) == bare(compiled) && !compiled.isEmpty)
    }

    @Test("The second example does what it shows")
    func second() async throws {
        let transport = MockTransport { request in .ok(json: ["id": 1]) }
        let client = Client(transport: transport) {
            Validate()
            Retry(attempts: 3)
            TenantHeader()
        }
        #expect(try await client.get("https://a.example/").json()["id"] == 1)
        #expect(transport.sent.first?.request.headers["X-Tenant"] == "blue")
    }
}
