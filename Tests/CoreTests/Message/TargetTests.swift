// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore

@Suite("Target")
struct TargetTests {
    private func url(_ target: Target, base: String? = "https://h.example/api/v1") -> String? {
        let request = Request(.get, target, relativeTo: base.flatMap { URL(string: $0) })
        return request.fault == nil ? request.url.absoluteString : nil
    }

    @Test(
        "Resolves text against the base as a directory",
        arguments: [
            ("users/1", "https://h.example/api/v1/users/1"),
            ("/users", "https://h.example/users"), ("", "https://h.example/api/v1"),
            ("?a=b", "https://h.example/api/v1/?a=b"), ("../v2/x", "https://h.example/api/v2/x"),
            ("a:b", "https://h.example/api/v1/a:b"),
            ("x y/é", "https://h.example/api/v1/x%20y/%C3%A9"),
            ("https://other.example/x", "https://other.example/x"),
            ("a%2Fb", "https://h.example/api/v1/a%2Fb"),
        ])
    func resolving(text: String, expected: String) { #expect(url(Target(text)) == expected) }

    @Test(
        "An absolute URL keeps no dot segments either, as transports differ in what they send",
        arguments: [
            ("http://h/a/../b", "http://h/b"), ("http://h/a/./b/.", "http://h/a/b/"),
            ("http://h/../../x", "http://h/x"), ("http://h/a/b/..", "http://h/a/"),
            ("http://h/..?q=/../x#/./", "http://h/?q=/../x#/./"),
            ("http://h/a//../b", "http://h/a/b"), ("http://h/.a/..b/c./...", nil),
            ("http://h/%2e%2e/x", nil), ("http://h?/../x", nil), ("http://h", nil),
            ("http://h/a%2F../b", nil),
        ] as [(String, String?)])
    func dotSegments(text: String, expected: String?) throws {
        #expect(url(Target(text)) == expected ?? text)
        let typed = try #require(URL(string: text))
        #expect(url(Target(typed)) == expected ?? text)
        var request = Request(.get, typed)
        #expect(request.url.absoluteString == expected ?? text)
        request.url = typed
        #expect(request.url.absoluteString == expected ?? text)
    }

    @Test(
        "Hosts and ports of all kinds are accepted",
        arguments: [
            "http://[::1]/", "http://[::1]:65535/", "http://[fe80::1%25eth0]/", "http://[::]/",
            "http://[::ffff:192.0.2.1]:8080/x?a=[b]:99999#@[c]", "http://192.0.2.1:1/",
            "http://u@h:8080/", "http://u:p@[2001:db8::1]/", "http://h:/", "http://H_1.x-y/",
            "http://h:080/",
            "http://h?x:99999", "http://h#:99999", "http://h/@[x]:99999",
        ])
    func authorities(text: String) throws {
        #expect(Request(.get, Target(text)).fault == nil)
        let typed = try #require(URL(string: text))
        #expect(Request(.get, typed).fault == nil)
    }

    @Test(
        "A text that leaves the host, or is not a URL, is refused",
        arguments: [
            "//evil.example/x", "//\u{FE0F}evil.example/x", "//\u{200D}evil.example/x",
            "//\u{301}evil.example/x", "\\\u{FE0F}evil.example", "/\\\u{FE0F}evil.example",
            "\\\\evil.example", "/\\evil.example", "a\r\nb", "a\0b", "%zz",
            "a%2",
            "http://", "http:///x", "http://[::1/", "http://h:99999/", "http://h:0/", "http://-/",
            "http://[www.google.com]/", "http://[::1.2.]/", "http://[192.0.2.1]/", "http://[::1]x/",
            "http://[v1.x]/", "http://[]/", "http://[::1%25]]/", "http://[1:2]/", "http://::1/",
            "http://h:65536/", "http://h:18446744073709551617/", "http://h:80808080808/",
            "http://[::1]:65536/", "http://u:p@h:99999999999999999999/x", "http://h:-1/",
            "http://h:+1/",
            "http://ho st/", "ftp://h/", "file:///etc/passwd",
            "http://exa\0mple/",
        ])
    func refusing(text: String) throws {
        let request = Request(
            .get, Target(text), relativeTo: URL(string: "https://h.example/api/"))
        #expect(request.fault != nil, "\(request.url)")
    }

    @Test(
        "The fault of a text names the scheme, or the place",
        arguments: [
            ("ftp://h/", "neither http nor https but ftp"),
            ("localhost:8080/x", "neither http nor https; write https:// and the host"),
            ("s3cret:pass@host/x", "neither http nor https; write https:// and the host"),
            ("abcdefghijklmnopqrstuvwxyz://h/", "neither http nor https; write https:// and"),
            ("s3cret_x://h/", "(RFC 3986): see character 9"),
            ("http://exa mple.com/s3cret", "(RFC 3986): see character 11, in its host"),
            ("http://h.example:8o/s3cret", "(RFC 3986): see character 19, in its port"),
            ("http://[::1/s3cret", "(RFC 3986): see character 8, in its host"),
            ("http://ex%20ample.com/", "is not a name or an address: see its character 3"),
            (
                "http://" + String(repeating: "a", count: 5000) + "/s3cret",
                "(RFC 3986): its host is too long"
            ),
        ])
    func places(text: String, expected: String) throws {
        let fault = try #require(Request(.get, Target(text), relativeTo: nil).fault)
        #expect(fault.contains(expected), "\(fault)")
        #expect(!fault.contains("s3cret") && fault.utf8.count < 120)
    }

    @Test("A relative target needs a base")
    func noBase() { #expect(url("users/1", base: nil) == nil) }

    @Test("Path values become one segment each")
    func paths() {
        let target = Target.path("echo/{id}/x", ["id": "../admin?x=1#y /é%"])
        #expect(
            url(target) == "https://h.example/api/v1/echo/..%2Fadmin%3Fx%3D1%23y%20%2F%C3%A9%25/x")
        #expect(url(.path("a/{b}", ["b": ".."])) == nil)
        #expect(url(.path("a/{b}", ["b": ""])) == nil)
        #expect(url(.path("a/{b}", [:])) == nil)
        #expect(url(.path("a/{b", ["b": "x"])) == nil)
    }

    @Test(
        "An escape stays unchanged beside any other character",
        arguments: [
            ("x y%2Fz", "https://h.example/api/v1/x%20y%2Fz"),
            ("/é%20?q=a b%26c&[x]=%5b", "https://h.example/%C3%A9%20?q=a%20b%26c&%5Bx%5D=%5b"),
            ("/a%20b#c d%20#e", "https://h.example/a%20b#c%20d%20%23e"),
            ("http://[::1]/{%7B", "http://[::1]/%7B%7B"),
            ("a:b c%20", "https://h.example/api/v1/a:b%20c%20"),
        ])
    func escapes(text: String, expected: String) { #expect(url(Target(text)) == expected) }

    @Test("A value of a template is encoded once, whatever the template holds")
    func templates() {
        #expect(
            url(.path("größe von/{id}", ["id": "a b/é"]))
                == "https://h.example/api/v1/gr%C3%B6%C3%9Fe%20von/a%20b%2F%C3%A9")
    }

    @Test("Query items are appended, order and repeats kept, before the fragment")
    func queries() {
        let query: Query = ["q": "a b&c=d+é", "t": ["1", "2"], "flag": nil, "n": 5]
        #expect(
            url(Target("s?x=1#f").appending(query))
                == "https://h.example/api/v1/s?x=1&q=a%20b%26c%3Dd%2B%C3%A9&t=1&t=2&flag&n=5#f")
        #expect(url(Target("s").appending([:])) == "https://h.example/api/v1/s")
    }

    @Test("Schemes and origins are compared without case")
    func origins() throws {
        #expect(url("HTTP://H.example/x") == "HTTP://H.example/x")
        let upper = try #require(URL(string: "HTTPS://H.Example:443/x"))
        #expect(Origin(upper) == Origin(scheme: "https", host: "h.example", port: 443))
        #expect(Origin(upper)?.description == "https://h.example")
        let six = try #require(URL(string: "http://[::1]:8080/"))
        #expect(Origin(six)?.description == "http://[::1]:8080")
        #expect(try Origin(#require(URL(string: "ftp://h/"))) == nil)
    }

    @Test("A non-ASCII host is sent and compared as punycode (RFC 5891)")
    func internationalized() {
        let request = Request(.get, Target("https://bücher.example:8443/ä"))
        #expect(request.fault == nil)
        #expect(request.url.absoluteString == "https://xn--bcher-kva.example:8443/%C3%A4")
        #expect(request.origin?.host == "xn--bcher-kva.example")
    }

    @Test("OPTIONS for a URL without path and query asks the server as a whole")
    func server() {
        let base = URL(string: "https://h.example:8443/api/v1?key=1")
        let request = Request(.options, .server, relativeTo: base)
        #expect(request.url.absoluteString == "https://h.example:8443")
        #expect(request.asksServer)
        #expect(!Request(.get, .server, relativeTo: base).asksServer)
        for (target, asksServer) in [
            (Target("http://h"), true), ("http://h/", false), ("http://h?", false),
            ("http://h/*", false),
        ] {
            #expect(Request(.options, target).asksServer == asksServer)
        }
        var open = Request(.options, .server)
        #expect(open.fault != nil)
        open.resolve(against: "https://h.example/api/")
        #expect(open.fault == nil)
        #expect(open.asksServer)
    }
}
