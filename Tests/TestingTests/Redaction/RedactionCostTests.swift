// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore
@testable import TurnpikeRedaction
@testable import TurnpikeTesting

/// A text made of one piece again and again, which a careless reader looks at anew from each piece.
struct CostlyText: Sendable, CustomTestStringConvertible {
    let type: String
    let head: String
    let unit: String

    init(_ type: String, _ unit: String, head: String = "") {
        self.type = type
        self.head = head
        self.unit = unit
    }

    var testDescription: String { "\(type.isEmpty ? "text" : type): \(head)\(unit)…" }

    func text(_ count: Int) -> Data {
        Data((head + String(repeating: unit, count: count / unit.utf8.count)).utf8)
    }

    static let all: [CostlyText] = {
        let units = [
            "a=b;c?d//e@f&", "//a@b", "//a:b", "//a:b@", "?a=", "{\"", "<a b=", "Bearer 1 ",
            "Bearer+", "Basic+", "token+./", "bearer ", "digest a=", "digest ", "eyJ-", "eyJ.",
            "sk-", "sk-ghp_", "bot1:", "bot1", "token=", "token=-", "token: is ", "token:",
            "token = ", "a:a:",
            "a:a@", "a:b@c.d ", "password=(", "password=',", "token,", "token,a", ",;)]}'",
            "\"token\":",
            "\"token\":[", "\"token\": {x is ", "\"token\": [x is ", "\"token\":\"\\", "--token ",
            "<token>", "<token", "</token>",
            "<token></token>", "<a b=\"", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "%25", "%",
            "\\",
            "\\\\", "\\u005c", "&amp;", "&#38;", "&", "/token/", "/a1b2c3", "a.", "a b", "\u{301}",
            "\u{3000}", "\n",
            " ", "\u{0}a", "aaaaaaaa\n", "REDACTED", "the token is ", "https:", "http://", "a@",
            "key: ", "api key: ", "token is was value ", "token x1", "machine a login ",
            "machine ", "default login password ", "curl -u a:", "curl -u '", "/curl/-ua",
            "/--user=x", "/curl/-bx", "-u://", "/--user=x:",
            "-u a:b ", "--user a:b ", "eyJhIjox", "eyJhIjoxfQ", "eyJ0b2tlbiI6IjEifQ", "W3siYSI6",
            "?q=[{",
            "?q=%5B%7B", "password: |\n", "token: |\n  a", "token=\"\"\"", "token:: ",
            "1234 is your code", "1234 is your ",
        ]
        let types = [
            "", "text/plain", "text/html", "application/x-www-form-urlencoded", "text/event-stream",
        ]
        let json = [
            "[", "{\"a\":", "\"\\u0022\",", "[]", "{\"token\":", "1\n", "\u{1E}1", "\"{\\\"", "{}",
            "{\"data\":", "{\"kind\":\"Secret\",\"data\":", "{\"kty\":{\"d\":",
            "{\"path\":\"/token\",\"value\":",
        ]
        let xml = [
            "<a>", "<a b='1'>", "<token>", "<!---->", "<![CDATA[]]>", "<?a?>", "&amp;",
            "<!DOCTYPE x>", "<key>token</key>", "<b/>",
        ]
        let tables = ["a,b\n", "token,b\n", "\"a\"", "\"\"", "\",", "\n", ",", "name,value\n", "a"]
        let parts = [
            "--b\r\n\r\n", "--b", "\r\n--b", "--b\r\nA:b\r\n\r\n",
            "--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n",
        ]
        return types.flatMap { type in units.map { CostlyText(type, $0) } }
            + json.flatMap { unit in
                ["application/json", "application/x-ndjson"].map { CostlyText($0, unit) }
                    + [CostlyText("application/json", unit, head: "[")]
            }
            + xml.flatMap { [CostlyText("text/xml", $0), CostlyText("text/xml", $0, head: "<x>")] }
            + tables.flatMap { unit in
                ["text/csv", "text/tsv"].map { CostlyText($0, unit, head: "token,x\n") }
            }
            + parts.map { CostlyText("multipart/mixed; boundary=b", $0) }
    }()
}

@Suite("Cost of redaction")
struct RedactionCostTests {
    // What the search for secrets inspects, and one reading of the content.
    private func work(
        _ content: Data, type: String, _ redactor: ExchangeRedactor = ExchangeRedactor(.standard)
    ) throws -> Int {
        let contents = try #require(redactor.contents())
        _ = contents.content(Array(content), types: type.isEmpty ? [] : [type], isCut: false)
        return contents.pass.search.work + content.count
    }

    private func work(
        _ text: CostlyText, _ count: Int, knowing secrets: [String] = []
    ) throws -> Int {
        let redactor = ExchangeRedactor(.standard)
        for secret in secrets { redactor.learn(["X-Token": secret], content: nil) }
        return try work(text.text(count), type: text.type, redactor)
    }

    private static let texts = stride(
        from: 0, to: CostlyText.all.count, by: Runs.size(4, all: 1)
    ).map { CostlyText.all[$0] }

    @Test("Work grows with the size, whatever the content is", arguments: texts)
    func linear(text: CostlyText) throws {
        let works = try [500, 1_000, 2_000].map { try work(text, $0) }
        #expect(works[1] < works[0] * 5 / 2 && works[2] < works[1] * 5 / 2, "\(works)")
        // Levels of escapes, and contents in contents.
        #expect(works[2] < 2_000 * 150, "\(works)")
    }

    @Test("Base64 in base64, each behind all levels of escapes, does not multiply the work")
    func packed() throws {
        var text = "x"
        for _ in 0..<6 {
            let json = "{\"a\":\"\(text) %41%2541%252541%25252541%2525252541\"}"
            text = Data(json.utf8).base64EncodedString().replacing("=", with: "")
        }
        let content = Data("see \(text) %41%2541%252541%25252541%2525252541".utf8)
        let work = try work(content, type: "text/plain")
        #expect(work < content.count * 200, "\(work) for \(content.count) bytes")
    }

    @Test("Work does not grow with the number of known secrets")
    func secrets() throws {
        let text = CostlyText("text/plain", "planted-secret-number-1 or planted-secret-number-")
        let few = try work(text, 4_000, knowing: ["planted-secret-number-1x"])
        let many = try work(
            text, 4_000, knowing: (0..<500).map { "planted-secret-number-\($0)x" })
        #expect(many < few * 2, "\(few), \(many)")
    }

    @Test("A long secret is not searched for again from each of its beginnings")
    func longSecret() throws {
        let secret = String(repeating: "ab1", count: 1_000)
        let text = CostlyText("text/plain", "ab1", head: "x")
        let works = try [3_000, 6_000, 12_000].map { try work(text, $0, knowing: [secret]) }
        #expect(works[1] < works[0] * 5 / 2 && works[2] < works[1] * 5 / 2, "\(works)")
    }
}
