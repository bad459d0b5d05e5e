// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

private let present = Date(timeIntervalSince1970: 1_700_000_000)

private func read(_ line: String, from url: String = "http://a.example/dir/x") throws -> Cookie? {
    Cookie(setCookie: line, from: try #require(URL(string: url)), at: present)
}

@Suite("Cookie")
struct CookieTests {
    @Test(
        "Name and value are read as RFC 6265bis says",
        arguments: [
            ("a=1", "a=1"), ("  a  =  1  ;  Path = /  ", "a=1"), ("a=b=c", "a=b=c"), ("a=", "a="),
            ("=v", "v"), ("justvalue", "justvalue"), ("a=\"b c\"", "a=\"b c\""),
            ("a=1, b=2", "a=1, b=2"),
            ("a b=1", "a b=1"), ("c=caf\u{e9}", "c=caf\u{e9}"),
            ("a=%0d%0aSet-Cookie:x", "a=%0d%0aSet-Cookie:x"),
            ("a=\"b;c\"", "a=\"b"), ("a=x\ty", "a=x\ty"),
        ])
    func pairs(line: String, pair: String) throws {
        #expect(try read(line)?.pair == pair)
    }

    @Test(
        "What cannot be a cookie is ignored",
        arguments: [
            "", ";", "=", "; Path=/; Secure", "a=\u{1}", "a=b\u{7f}", "a=1; Path=/\u{0}",
            "a=1; Secure", "a=1; Domain=other.example", "a=1; Domain=x.a.example",
            "a=1; Domain=example", "a=1; Domain=com", "a=1; Domain=.", "a=1; Domain=a.example.",
            "__Secure-a=1; Path=/", "__Host-a=1; Path=/", "=__Host-a=1", "__secure-a=1",
            "a=" + String(repeating: "b", count: 4096), "a=1; Domain=ple",
        ])
    func ignored(line: String) throws {
        #expect(try read(line) == nil)
    }

    @Test(
        "Name prefixes are enforced over https too",
        arguments: [
            ("__Secure-a=1; Secure", true), ("__Secure-a=1", false),
            ("__Host-a=1; Secure; Path=/", true), ("__HOST-a=1; Secure; Path=/", true),
            ("__Host-a=1; Secure", false), ("__Host-a=1; Secure; Path=/sub", false),
            ("__Host-a=1; Secure; Path=/; Domain=a.example", false), ("__Host-a=1; Path=/", false),
        ])
    func prefixes(line: String, isTaken: Bool) throws {
        #expect(try (read(line, from: "https://a.example/") != nil) == isTaken)
    }

    @Test(
        "Without a suffix list a cookie belongs to its host, whatever domain it names",
        arguments: [
            ("https://www.a.example/", "a.example"), ("https://www.a.example/", "www.a.example"),
            ("http://me.github.io/", "github.io"), ("http://127.0.0.1/", "127.0.0.1"),
        ])
    func hostOnly(url: String, attribute: String) throws {
        let cookie = try #require(try read("a=1; Domain=\(attribute)", from: url))
        #expect(cookie.domain == URL(string: url)?.host())
        #expect(cookie.isHostOnly)
    }

    @Test(
        "With a suffix list, a domain is the host or a parent that is not a public suffix",
        arguments: [
            ("https://www.a.example/", "a.example", "a.example", false),
            ("https://www.a.example/", ".A.Example", "a.example", false),
            ("https://www.a.example/", "www.a.example", "www.a.example", false),
            ("https://www.a.example/", "", "www.a.example", true),
            ("http://localhost/", "localhost", "localhost", true),
            ("http://127.0.0.1/", "127.0.0.1", "127.0.0.1", false),
            ("http://co.uk/", "co.uk", "co.uk", true),
        ])
    func domains(url: String, attribute: String, domain: String, isHostOnly: Bool) throws {
        let list = PublicSuffixes(parsing: "com\nco.uk")
        let url = try #require(URL(string: url))
        let line = "a=1; Domain=\(attribute)"
        let cookie = try #require(
            Cookie(setCookie: line, from: url, at: present, suffixes: list))
        #expect(cookie.domain == domain)
        #expect(cookie.isHostOnly == isHostOnly)
    }

    @Test("Non-ASCII suffixes match as hosts do")
    func internationalizedSuffixes() {
        let list = PublicSuffixes(parsing: "公司.cn\n*.ไทย\nXN--J6W193G")
        #expect(list.contains("xn--55qx5d.cn"))
        #expect(list.contains("any.xn--o3cw4h"))
        #expect(list.contains("xn--j6w193g"))
        #expect(!list.contains("a.xn--55qx5d.cn"))
    }

    @Test(
        "A cookie for a domain that strangers share is refused",
        arguments: [
            ("http://a.co.uk/", "co.uk"), ("http://a.co.uk/", "cO.uK"),
            ("http://a.com.au/", "com.au"),
            ("http://127.0.0.1/", "0.0.1"), ("http://127.0.0.1/", "1"), ("http://a.com/", "com"),
        ])
    func suffixes(url: String, attribute: String) throws {
        #expect(try read("a=1; Domain=\(attribute)", from: url) == nil)
    }

    @Test(
        "Paths: the directory of the request where none is given",
        arguments: [
            ("http://a.example/dir/x", "", "/dir"), ("http://a.example/x", "", "/"),
            ("http://a.example", "", "/"), ("http://a.example/d/", "", "/d"),
            ("http://a.example/d/x", "; Path=nope", "/d"),
            ("http://a.example/d/x", "; Path=/p", "/p"),
            ("http://a.example/d/x", "; Path=/p; Path=/q", "/q"),
            ("http://a.example/d/x", "; Path=/" + String(repeating: "p", count: 1024), "/d"),
        ])
    func paths(url: String, attribute: String, path: String) throws {
        #expect(try read("a=1" + attribute, from: url)?.path == path)
    }

    @Test(
        "The expiry is Max-Age before Expires, at most 400 days, none if both are unreadable",
        arguments: [
            ("Max-Age=60", 60), ("Max-Age=99999999999999999999", 34_560_000), ("max-age=0", -1),
            ("Max-Age=-1", -1), ("Max-Age=abc", nil), ("Max-Age=", nil), ("Max-Age=1x", nil),
            ("Expires=Tue, 14 Nov 2023 22:14:20 GMT", 60), ("Expires=not a date", nil),
            ("Expires=Wed, 09 Jun 2100 10:18:14 GMT", 34_560_000),
            ("Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 60),
            ("Expires=Thu, 01 Jan 1970 00:00:00 GMT", -1),
        ] as [(String, Double?)])
    func ends(attributes: String, seconds: Double?) throws {
        let cookie = try #require(try read("a=1; " + attributes))
        guard let seconds else {
            #expect(cookie.expires == nil)
            return
        }
        #expect(cookie.isExpired(at: present) == (seconds < 0))
        if seconds > 0 { #expect(cookie.expires == present.addingTimeInterval(seconds)) }
    }

    @Test(
        "Dates are read leniently",
        arguments: [
            ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894), ("09-Jun-21 10:18:14", 1_623_233_894),
            ("Wednesday, 9-Jun-2021 10:18:14 GMT", 1_623_233_894),
            ("10:18:14 2021 jUNe 9", 1_623_233_894),
            ("Jun 9 10:18:14 95", 802_693_094), ("1 Jan 1970 0:0:0", 0),
            ("29 Feb 2000 1:2:3", 951_786_123),
            ("9 Jun 2021 10:18:14abc", 1_623_233_894),
        ] as [(String, Double)])
    func dates(text: String, seconds: Double) {
        #expect(CookieDate.parse(text)?.timeIntervalSince1970 == seconds)
    }

    @Test(
        "A text that is not a date is ignored",
        arguments: [
            "", "Jun 2021", "32 Jun 2021 10:18:14", "31 Jun 2021 10:18:14", "29 Feb 2001 10:18:14",
            "9 Jun 1600 10:18:14", "9 Jun 2021 24:00:00", "9 Jun 2021 10:60:00", "9 Jun 2021 10:18",
            "9 Foo 2021 10:18:14", "9 Jun 20211 10:18:14", "99999999999999999999 Jun 2021 1:1:1",
        ])
    func noDates(text: String) {
        #expect(CookieDate.parse(text) == nil)
    }

    @Test("No description shows the value")
    func secrecy() throws {
        let cookie = try #require(try read("sid=s3cret; Path=/"))
        var dumped = ""
        dump(cookie, to: &dumped)
        #expect(!"\(cookie) \(String(reflecting: cookie)) \(dumped)".contains("s3cret"))
    }

    @Test("A list of public suffixes is exact")
    func list() throws {
        let list = PublicSuffixes(
            parsing: """
                // comment
                com
                github.io
                *.ck
                !www.ck
                XN--55qx5d.cn
                """)
        for suffix in ["com", "github.io", "x.ck", "uk", "xn--55qx5d.cn"] {
            #expect(list.contains(suffix), "\(suffix)")
        }
        for domain in ["a.com", "a.github.io", "www.ck", "co.uk", "a.x.ck"] {
            #expect(!list.contains(domain), "\(domain)")
        }
        let url = try #require(URL(string: "https://a.github.io/"))
        let line = "a=1; Domain=github.io"
        #expect(Cookie(setCookie: line, from: url, at: present, suffixes: list) == nil)
        #expect(Cookie(setCookie: line, from: url, at: present)?.isHostOnly == true)
    }

    @Test(
        "A domain above the registrable one is refused, even if it is not a suffix",
        arguments: [
            ("evil.foo.kobe.jp", "kobe.jp", nil), ("evil.foo.kobe.jp", "foo.kobe.jp", nil),
            ("www.evil.foo.kobe.jp", "evil.foo.kobe.jp", "*.evil.foo.kobe.jp"),
            ("www.city.kobe.jp", "city.kobe.jp", "*.city.kobe.jp"),
            ("www.city.kobe.jp", "kobe.jp", nil), ("kobe.jp", "kobe.jp", "*.kobe.jp"),
            ("foo.kobe.jp", "foo.kobe.jp", "foo.kobe.jp"), ("foo.kobe.jp", "kobe.jp", nil),
            ("a.eu.platformsh.site", "platformsh.site", nil),
            ("a.b.sch.uk", "sch.uk", nil), ("a.b.sch.uk", "a.b.sch.uk", "*.a.b.sch.uk"),
            ("bucket.s3.amazonaws.com", "amazonaws.com", nil),
            ("www.amazonaws.com", "amazonaws.com", "*.amazonaws.com"),
            ("a.unlisted", "unlisted", nil), ("b.a.unlisted", "a.unlisted", "*.a.unlisted"),
            ("10.0.0.1", "10.0.0.1", "*.10.0.0.1"), ("10.0.0.1", "0.0.1", nil),
        ] as [(String, String, String?)])
    func registrants(host: String, attribute: String, reach: String?) throws {
        let list = PublicSuffixes(
            parsing: """
                jp
                *.kobe.jp
                !city.kobe.jp
                uk
                *.sch.uk
                com
                s3.amazonaws.com
                site
                *.platformsh.site
                """)
        let url = try #require(URL(string: "https://\(host)/"))
        let cookie = Cookie(
            setCookie: "a=1; Domain=\(attribute)", from: url, at: present, suffixes: list)
        #expect(cookie.map { ($0.isHostOnly ? "" : "*.") + $0.domain } == reach)
    }

    @Test("No line traps the parser, and every accepted cookie can be sent")
    func noise() async throws {
        let pieces = [
            "a", "=", ";", " ", "\t", "Domain=", ".example", "a.example", "Path=/", "Expires=",
            "Max-Age=", "-", "9", "Jun", "10:18:14", "2100", "Secure", "__Host-", "SameSite=Lax",
            ",", "\"",
        ]
        let url = try #require(URL(string: "https://a.example/x"))
        try await forAllSeeds { generator in
            let line = generator.noise(pieces, upTo: 20)
            guard let cookie = Cookie(setCookie: line, from: url, at: present) else { return nil }
            var headers = HTTPHeaders()
            headers[.cookie] = cookie.pair
            if headers.defect != nil || cookie.pair.contains(";") {
                return "\(line): \(cookie.pair)"
            }
            return cookie.domain.hasSuffix("a.example") ? nil : "\(line): \(cookie)"
        }
    }

    @Test("No text traps the parser of dates")
    func dateNoise() async throws {
        let pieces = ["Jun", "10:", ":", "9", "2021", " ", "-", ",", "999999999999", "0"]
        try await forAllSeeds { generator in
            _ = CookieDate.parse(generator.noise(pieces, upTo: 16))
            return nil
        }
    }
}
