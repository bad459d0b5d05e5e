// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore

@Suite("Redaction of URLs and texts")
struct RedactionURLTests {
    private let token = "eyJhbGciOiJIUzI1NiJ9.e30.abc-def_ghi"

    @Test(
        "A URL shows no secret in any of its parts",
        arguments: [
            ("http://a/?x=1&token=s3cret", "http://a/?x=1&token=REDACTED"),
            ("http://a/?app_key=s3cret&hmac=s3cret", "http://a/?app_key=REDACTED&hmac=REDACTED"),
            ("http://a/?ticket=s3cret", "http://a/?ticket=REDACTED"),
            ("http://a/?x=1;token=s3cret", "http://a/?x=1;token=REDACTED"),
            ("http://a/?auth[key]=s3cret", "http://a/?auth[key]=REDACTED"),
            ("http://a/?user%5Bpassword%5D=s3cret", "http://a/?user%5Bpassword%5D=REDACTED"),
            ("http://a/?%2574oken=s3cret", "http://a/?%2574oken=REDACTED"),
            ("http://a/?next=http://b/?sig=s3cret", "http://a/?next=REDACTED"),
            ("http://a/?next=http%3A%2F%2Fb%2F%3Fsig%3Ds3cret&x=1", "http://a/?next=REDACTED&x=1"),
            ("http://a/?next=http%3A%2F%2Fu%3As3cret%40b%2F", "http://a/?next=REDACTED"),
            ("http://a/?filter={\"password\":\"s3cret\"}", "http://a/?filter=REDACTED"),
            ("http://a/?filter=%7B%22pwd%22%3A%22s3cret%22%7D", "http://a/?filter=REDACTED"),
            ("http://a/?http%3A%2F%2Fb%3Ftoken%3Ds3cret", "http://a/?REDACTED"),
            ("http://a/#access_token=s3cret", "http://a/#access_token=REDACTED"),
            ("http://a/#?code=s3cret", "http://a/#?code=REDACTED"),
            ("http://a/#/back?x=1&code=s3cret", "http://a/#/back?x=1&code=REDACTED"),
            ("http://a/x;sid=s3cret;v=1/y", "http://a/x;sid=REDACTED;v=1/y"),
            ("http://a/x;jsessionid=s3cret?q=1", "http://a/x;jsessionid=REDACTED?q=1"),
            ("http://a/reset-token/s3cret", "http://a/reset-token/REDACTED"),
            ("http://a/password/0123456789abcdef/new", "http://a/password/REDACTED/new"),
            ("http://u:s3cret@a/x", "http://REDACTED@a/x"),
            ("http://a/x,http://u:s3cret@b/y", "http://a/x,http://REDACTED@b/y"),
            ("http://a,http://u:s3cret@b", "http://a,http://REDACTED@b"),
        ])
    func urls(url: String, expected: String) { #expect(Redaction.standard.url(url) == expected) }

    @Test(
        "A URL without a secret is shown unchanged",
        arguments: [
            "http://a/users/1/posts/2024-01-01?page=2&sort=-name#top",
            "http://a/?q=a+b%20c&e=x@y.z",
            "http://token.example/users/12345678", "http://a/oauth/token", "http://a/tokens/list",
            "http://a/?filter={\"name\":\"x\"}", "http://a/?next=http%3A%2F%2Fb%2Fx%3Fq%3D1",
            "http://a//b;v=1/?", "http://[::1]:80/?a=b=c", "http://a/;/?;&=&&#?#", "", "?", "//",
        ])
    func shown(url: String) { #expect(Redaction.standard.url(url) == url) }

    @Test("Credentials are recognised by their form")
    func looks() {
        let secrets = [
            token, "ghp_0123456789abcdef0123", "sk_live_0123456789abcdef", "AKIA0123456789ABCDEF",
            "xoxb-0123456789-abcdef", "bot123456789:AAF-abcdefghijklmnop",
        ]
        for secret in secrets {
            for text in [
                "http://a/\(secret)/x", "http://a/?q=\(secret)", "see \"\(secret)\", there",
            ] {
                let shown = Redaction.standard.text(text)
                #expect(!shown.contains(secret), "\(shown)")
                #expect(shown.contains("REDACTED"))
            }
        }
    }

    @Test(
        "Text shows no credential",
        arguments: [
            ("sent Bearer s3cret, got 401", "sent Bearer REDACTED, got 401"),
            ("Authorization: Basic dXNlcjpzM2NyZXQ=", "Authorization: Basic REDACTED"),
            ("password=s3cret, user=x", "password=REDACTED, user=x"),
            ("(client_secret=s3cret)", "(client_secret=REDACTED)"),
            ("api_key=\"s3cret\"", "api_key=\"REDACTED\""),
            ("url=http://a/?x=1,token=s3cret", "url=http://a/?x=REDACTED"),
            ("unexpected token: }", "unexpected token: }"), ("code=404 key=x", "code=404 key=x"),
            ("Basic authentication failed", "Basic authentication failed"),
        ])
    func texts(text: String, expected: String) {
        #expect(Redaction.standard.text(text) == expected)
    }

    @Test("Redacting a redacted text changes nothing")
    func idempotent() {
        for text in [
            "http://u:p@a/x;sid=1/?token=x#code=y Bearer abc123 password=x", "q=\(token)",
        ] {
            let once = Redaction.standard.text(text)
            #expect(Redaction.standard.text(once) == once)
        }
    }

    @Test(
        "JSON in JSON shows no secret, whole or cut off",
        arguments: [
            (#"{"data":"{\"password\":\"s3cret\",\"kept\":1}"}"#, "application/json"),
            (#"{"a":"x","b":"{\"c\":\"{\\\"token\\\":\\\"s3cret\\\"}\"}"}"#, "application/json"),
        ])
    func contents(text: String, type: String) throws {
        let type = try #require(MediaType(parsing: type))
        for count in 0...text.utf8.count {
            let shown = Redaction.standard.content(Data(text.utf8.prefix(count)), type: type)
            #expect(!shown.contains("s3cr"), "\(shown)")
        }
        let whole = Redaction.standard.content(Data(text.utf8), type: type)
        #expect(whole.contains("REDACTED"))
    }

    @Test("Text that is nested in itself takes bounded time")
    func packed() {
        var text = "token=s3cret"
        for _ in 0..<12 {
            let escaped = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            text = "http://a/?u=" + escaped
        }
        #expect(!Redaction.standard.url(text).contains("s3cret"))
        for unit in ["a=b;c?d//e@f&", "//a@b", "?a=", "{\"", "<a b=", "Bearer 1 "] {
            let long = String(repeating: unit, count: Runs.size(2_000, all: 20_000))
            for type in [MediaType.json, .form, .plainText, MediaType("text", "html")] {
                let shown = Redaction.standard.content(Data(long.utf8), type: type)
                #expect(shown.utf8.count < 4 * long.utf8.count)
            }
            #expect(Redaction.standard.url(long).utf8.count < 4 * long.utf8.count)
        }
    }
}
