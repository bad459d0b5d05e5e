// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore

@Suite("Names that hide values")
struct RedactionNamesTests {
    private static let value = "a=Pl4ntedS3cret"

    private static func shown(_ name: String, by rules: Redaction = .standard) -> [String] {
        [
            rules.content(Data(#"{"\#(name)":"\#(value)"}"#.utf8), type: .json),
            rules.content(Data(#"[{"name":"\#(name)","value":"\#(value)"}]"#.utf8), type: .json),
            rules.content(Data("x=1&\(name)=\(value)".utf8), type: .form),
            rules.url("https://h/?\(name)=\(value)"), rules.url("https://h/?f[\(name)]=\(value)"),
            rules.text("sent {'\(name)': '\(value)'}"),
            rules.text("sent \"\(name)\"=>\"\(value)\""),
        ]
    }

    @Test(
        "A name that hides a field hides the same name in JSON, forms, queries and quoted text",
        arguments: [
            "Cookie", "set-cookie", "Set-Cookie2", "Authentication-Info", "X-Auth", "X-Session",
            "X-Hmac", "X-Auth-User", "db_pass", "user_pwd", "SMTP_PASS", "user_pin", "basic_auth",
            "HTTP_COOKIE", "X_Session",
        ])
    func fields(name: String) {
        for shown in Self.shown(name) {
            #expect(!shown.contains("Pl4nted") && shown.contains(Redaction.mark), "\(shown)")
        }
    }

    @Test(
        "A password, PIN or one-time code is hidden in plain text by the last word of its name",
        arguments: ["DB_PASS", "MYSQL_PWD", "user_pin", "smtp_pass"])
    func lastWords(name: String) {
        #expect(
            Redaction.standard.text("export \(name)=Pl4nted and") == "export \(name)=REDACTED and")
    }

    @Test(
        "An ordinary name hides nothing",
        arguments: [
            "session_count", "auth_type", "auth-type", "auth-method", "session-limit", "author",
            "passed",
            "session-name", "compass", "pinned", "input", "session_title", "auth_method",
            "pass_rate", "x_author",
            "co_author", "x-passed", "user_input", "cookies", "cookie_consent", "bypass",
            "token_count", "tokenCount", "tokencount", "secretary", "tokenized", "tokenizer",
            "passwordPolicy", "promptTokensDetails", "tokens_limit", "tokenscount",
            "access_token_expires_in", "apiTokenTTL", "keyURLType",
        ])
    func ordinary(name: String) {
        let shown = Redaction.standard.content(
            Data(#"{"\#(name)":"Pl4nted","b":1}"#.utf8), type: .json)
        #expect(shown == #"{"\#(name)":"Pl4nted","b":1}"#)
        let url = "https://h/\(name)/Pl4nted?\(name)=Pl4nted&f[\(name)]=Pl4nted"
        #expect(Redaction.standard.url(url) == url)
        for text in ["\(name)=Pl4nted", "'\(name)': 'Pl4nted'", "\"\(name)\" => \"Pl4nted\""] {
            #expect(Redaction.standard.text(text) == text)
        }
    }

    @Test(
        "A sentence or a path with such a word is shown",
        arguments: [
            "the session has ended: 42", "a pass = 3 points", "the first pass: 12 errors",
            "session 4711a was closed", "the pin is bent", "auth: ok", "https://h/cookie/Pl4nted",
            "https://h/auth-service/Pl4nted", "https://h/first_pass/Pl4nted",
        ])
    func sentences(text: String) { #expect(Redaction.standard.text(text) == text) }

    @Test("A field's name that was added hides values in JSON, forms, queries and text too")
    func added() {
        let rules = Redaction.standard.adding(headers: ["X-Customer"])
        let texts = ["sent X-Customer: Pl4nted", "x-customer=Pl4nted", "x=1;X-Customer: Pl4nted"]
        for shown in Self.shown("X-Customer", by: rules) + texts.map(rules.text) {
            #expect(!shown.contains("Pl4nted") && shown.contains(Redaction.mark), "\(shown)")
        }
        #expect(Self.shown("X-Customer").allSatisfy { $0.contains("Pl4nted") })
        let others = "X-Customers: Pl4nted, Customer: Pl4nted, code=404 cookie=Pl4nted"
        #expect(rules.text(others) == others)
    }

    @Test("A name that was added is secret, also if it ends like the name of a field")
    func addedField() {
        let rules = Redaction.standard.adding(query: ["user_session", "db_auth"])
        let path = "GET /user_session/4711a2b9c8d7e6f5"
        for text in ["user_session=Pl4nted", "db_auth: Pl4nted", path] {
            #expect(rules.text(text).contains(Redaction.mark), "\(text)")
            #expect(!Redaction.standard.text(text).contains(Redaction.mark), "\(text)")
        }
    }

    @Test(
        "A part of another word does not make a name harmless",
        arguments: [
            "secret_service_account", "client_secret_account", "clientSecretAccount",
            "CLIENT_SECRET_ACCOUNT", "password_prototype", "secret_discount", "api_token_isv",
            "X-Api-Token-Isv", "token_issued", "secret_args", "secretArgs", "secret-arn",
        ])
    func borders(name: String) {
        #expect(Redaction.standard.hides(header: HTTPHeaders.Name(name)))
        #expect(Redaction.standard.hides(key: name.utf8))
    }
}
