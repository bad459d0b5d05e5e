// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

private let present = Date(timeIntervalSince1970: 1_700_000_000)

private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

/// The `Cookie` line of a request to a URL, or nil.
private func sent(_ jar: CookieJar, _ target: String, at date: Date = present) throws -> String {
    jar.cookies(for: Request(.get, try url(target)), at: date).map(\.pair).joined(separator: "; ")
}

/// A list that lets domains of the tests be domains.
private let list = PublicSuffixes(parsing: "example\ncom")

@Suite("CookieJar")
struct CookieJarTests {
    private let jar = CookieJar(suffixes: list)

    @Test("Without a suffix list, shared cookies are dropped, because no host could replace them")
    func listIsGone() throws {
        jar.store(
            ["shared=1; Domain=a.example", "own=1"], from: try url("https://www.a.example/"),
            at: present)
        #expect(Set(jar.cookies.map(\.name)) == ["shared", "own"])
        jar.apply(PublicSuffixes.standard)
        #expect(jar.cookies.map(\.name) == ["own"])
    }

    @Test("A dot before the domain, as other libraries write it, is ignored")
    func dotted() throws {
        let cookie = try Cookie(
            name: "a", value: "1", domain: ".A.example", isHostOnly: false, created: present)
        jar.insert(cookie, at: present)
        #expect(cookie.domain == "a.example")
        #expect(try sent(jar, "http://www.a.example/") == "a=1")
        expectError(.invalidRequest) {
            try Cookie(name: "a", value: "1", domain: ".", created: present)
        }
    }

    @Test("Cookies are sent if host, path and scheme match")
    func matching() throws {
        jar.store(
            [
                "host=1; Path=/", "domain=2; Domain=a.example; Path=/", "deep=3; Path=/deep",
                "tls=4; Secure; Path=/",
            ], from: try url("https://www.a.example/"), at: present)
        #expect(try sent(jar, "http://www.a.example/") == "host=1; domain=2")
        #expect(try sent(jar, "https://WWW.a.example/") == "host=1; domain=2; tls=4")
        #expect(try sent(jar, "http://a.example/") == "domain=2")
        #expect(try sent(jar, "http://x.www.a.example/") == "domain=2")
        #expect(try sent(jar, "http://ba.example/") == "")
        #expect(try sent(jar, "http://example/") == "")
        #expect(try sent(jar, "http://www.a.example/deep/x") == "deep=3; host=1; domain=2")
        #expect(try sent(jar, "http://www.a.example/deeper") == "host=1; domain=2")
    }

    @Test("Without a suffix list a cookie returns only to its host")
    func hostOnly() throws {
        let jar = CookieJar()
        jar.store(["a=1; Domain=a.example"], from: try url("http://www.a.example/"), at: present)
        #expect(try sent(jar, "http://www.a.example/") == "a=1")
        #expect(try sent(jar, "http://a.example/") == "")
        #expect(try sent(jar, "http://x.www.a.example/") == "")
    }

    @Test("Longer paths are sent first, then older cookies; a cookie set again keeps its place")
    func order() throws {
        let origin = try url("http://a.example/")
        jar.store(["a=1; Path=/", "b=1; Path=/"], from: origin, at: present)
        jar.store(["c=1; Path=/x"], from: origin, at: present.addingTimeInterval(1))
        jar.store(["a=2; Path=/"], from: origin, at: present.addingTimeInterval(2))
        #expect(
            try sent(jar, "http://a.example/x", at: present.addingTimeInterval(3))
                == "c=1; a=2; b=1")
    }

    @Test("Cookies end by their expiry, or when a server removes them")
    func ending() throws {
        let origin = try url("http://a.example/")
        jar.store(["a=1; Max-Age=10; Path=/", "b=1; Path=/"], from: origin, at: present)
        #expect(try sent(jar, "http://a.example/", at: present.addingTimeInterval(9)) == "a=1; b=1")
        #expect(try sent(jar, "http://a.example/", at: present.addingTimeInterval(10)) == "b=1")
        #expect(jar.store(["b=; Max-Age=0; Path=/"], from: origin, at: present))
        #expect(!jar.store(["b=; Max-Age=0; Path=/"], from: origin, at: present))
        #expect(jar.cookies.map(\.name) == ["a"])
    }

    @Test("An untrusted connection neither replaces nor hides a Secure cookie")
    func secureStays() throws {
        jar.store(
            ["s=1; Secure; Path=/; Domain=a.example"], from: try url("https://a.example/"),
            at: present)
        for line in ["s=2; Path=/; Domain=a.example", "s=2; Path=/", "s=2; Path=/sub"] {
            #expect(!jar.store([line], from: try url("http://a.example/"), at: present))
        }
        #expect(!jar.store(["s=2; Path=/"], from: try url("http://www.a.example/"), at: present))
        #expect(try sent(jar, "https://a.example/sub/x") == "s=1")
        #expect(jar.store(["s=3; Path=/"], from: try url("http://other.example/"), at: present))
    }

    @Test("After a redirect from another site, Strict cookies stay and Lax ones need a safe method")
    func sameSite() throws {
        jar.store(
            [
                "n=1; SameSite=None; Path=/", "l=1; SameSite=Lax; Path=/",
                "s=1; SameSite=Strict; Path=/",
                "u=1; Path=/",
            ], from: try url("http://a.example/"), at: present)
        func names(_ method: HTTPMethod, _ trail: [String]) throws -> String {
            var request = Request(method, try url("http://a.example/"))
            if !trail.isEmpty {
                request.options[RedirectTrail.self] = try trail.compactMap { Origin(try url($0)) }
            }
            return jar.cookies(for: request, at: present).map(\.name).joined()
        }
        #expect(try names(.post, []) == "nlsu")
        #expect(try names(.post, ["http://a.example/", "http://www.a.example/"]) == "nlsu")
        #expect(try names(.get, ["http://b.example/"]) == "nlu")
        #expect(try names(.post, ["http://b.example/"]) == "nu")
        #expect(try names(.get, ["http://a.example/", "http://b.example/"]) == "nlu")
        #expect(try names(.get, ["https://a.example/"]) == "nlu")
    }

    @Test("Sites are distinguished by registrable domain, with exceptions and wildcards")
    func sites() throws {
        let list = PublicSuffixes(parsing: "jp\n*.kobe.jp\n!city.kobe.jp")
        let jar = CookieJar(suffixes: list)
        func isSameSite(_ host: String, from before: String) throws -> Bool {
            jar.removeAll()
            jar.store(["s=1; SameSite=Strict"], from: try url("http://\(host)/"), at: present)
            var request = Request(.get, try url("http://\(host)/"))
            request.options[RedirectTrail.self] = [try #require(Origin(url("http://\(before)/")))]
            return !jar.cookies(for: request, at: present).isEmpty
        }
        for (host, before, isSame) in [
            ("www.city.kobe.jp", "city.kobe.jp", true), ("a.city.kobe.jp", "b.city.kobe.jp", true),
            ("city.kobe.jp", "other.kobe.jp", false), ("city.kobe.jp", "kobe.jp", false),
            ("kobe.jp", "evil.foo.kobe.jp", false), ("a.foo.kobe.jp", "b.foo.kobe.jp", false),
            ("foo.kobe.jp", "a.foo.kobe.jp", false), ("x.a.foo.kobe.jp", "a.foo.kobe.jp", true),
            ("10.0.0.1", "9.0.0.1", false), ("a.jp", "b.a.jp", true),
        ] {
            #expect(try isSameSite(host, from: before) == isSame, "\(before) to \(host)")
            #expect(try isSameSite(before, from: host) == isSame, "\(host) to \(before)")
        }
    }

    @Test("A cookie set above a registrable domain does not reach it")
    func above() async throws {
        let list = PublicSuffixes(parsing: "jp\n*.kobe.jp")
        let jar = CookieJar(suffixes: list)
        jar.store(["a=1; Domain=kobe.jp"], from: try url("http://kobe.jp/"), at: present)
        #expect(try sent(jar, "http://kobe.jp/") == "a=1")
        #expect(try sent(jar, "http://evil.foo.kobe.jp/") == "")
        // A jar that was filled when the list was shorter.
        let path = FileManager.default.temporaryDirectory.path + "/turnpike-\(UUID()).jar"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let old = try CookieJar(file: path, suffixes: PublicSuffixes(parsing: "io"))
        old.store(
            ["a=1; Domain=github.io; Max-Age=99999999"], from: try url("http://me.github.io/"),
            at: .now)
        await old.flush()
        let new = try CookieJar(file: path, suffixes: PublicSuffixes(parsing: "io\ngithub.io"))
        #expect(new.cookies.isEmpty)
        old.apply(PublicSuffixes(parsing: "io\ngithub.io"))
        #expect(old.cookies.isEmpty)
    }

    @Test("The least recently used cookie of a domain is removed first, Secure ones last")
    func eviction() throws {
        let origin = try url("https://a.example/")
        jar.store(["s=1; Secure; Path=/"], from: origin, at: present)
        let lines = (1..<CookieJar.maxPerDomain).map { "c\($0)=1; Path=/p\($0)" }
        jar.store(lines, from: origin, at: present)
        _ = try sent(jar, "https://a.example/p1")
        jar.store(["new=1; Path=/"], from: origin, at: present)
        let names = Set(jar.cookies.map(\.name))
        #expect(names.count == CookieJar.maxPerDomain)
        #expect(names.isSuperset(of: ["s", "c1", "new"]))
        #expect(!names.contains("c2"))
    }

    @Test("One request gets no more cookies than a server accepts")
    func sentBytes() throws {
        let lines = (0..<100).map { "c\($0)=" + String(repeating: "x", count: 1000) }
        jar.store(lines, from: try url("http://a.example/"), at: present)
        let line = try sent(jar, "http://a.example/")
        #expect((7000...8190).contains(line.utf8.count))
    }

    @Test("The jar stays within its bounds, and its parts agree")
    func boundsLaw() async throws {
        let jar = CookieJar(suffixes: list)
        var date = present
        var total = 0
        for seed in UInt64(0)..<4000 {
            var generator = SeededGenerator(seed: seed)
            // Few hosts fill a domain, many fill the jar.
            let host =
                generator.int(0...4) == 0 ? "h\(generator.int(0...60)).example" : "www.a.example"
            let scheme = generator.pick(["http", "https"])
            let lines = (0..<generator.int(3...9)).map { _ in
                "n\(generator.int(0...400))=v; Path=/\(generator.pick(["", "x", "y"]))"
                    + generator.pick([
                        "", "; Secure", "; Max-Age=60", "; Max-Age=0", "; Domain=a.example",
                    ])
            }
            jar.store(lines, from: try url("\(scheme)://\(host)/"), at: date)
            if seed % Runs.size(10, all: 1) == 0 {
                _ = try sent(jar, "https://\(host)/x", at: date)
            }
            date += 1
            if seed % 50 != 0 { continue }
            let all = jar.cookies
            total = max(total, all.count)
            let largest = Dictionary(grouping: all, by: \.domain).values.map(\.count).max() ?? 0
            guard all.count <= CookieJar.maxTotal, largest <= CookieJar.maxPerDomain,
                Set(all.map { "\($0.name) \($0)" }).count == all.count
            else {
                Issue.record("seed \(seed): \(all.count) cookies, \(largest) of a domain")
                return
            }
        }
        #expect(total > CookieJar.maxTotal * 9 / 10)
    }

    @Test("Names, values and paths are compared byte by byte, not by their looks")
    func canonicalEquivalence() throws {
        let page = try url("http://a.example/")
        #expect(jar.store(["\u{E9}=\u{E9}; Path=/"], from: page, at: present))
        #expect(jar.store(["e\u{301}=2; Path=/"], from: page, at: present))
        #expect(jar.cookies.count == 2)
        #expect(jar.store(["\u{E9}=e\u{301}; Path=/"], from: page, at: present))
        #expect(jar.cookies.count == 2)
        #expect(!jar.store(["\u{E9}=e\u{301}; Path=/"], from: page, at: present))
        jar.removeAll()
        jar.store(["a=1; Path=/\u{212A}"], from: page, at: present)
        #expect(try sent(jar, "http://a.example/Kab/x") == "")
    }
}

@Suite("CookieJar concurrency")
struct CookieJarConcurrencyTests {
    @Test("A jar that many calls use at once loses no cookie and keeps its bounds")
    func storm() async throws {
        let jar = CookieJar()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    guard let url = URL(string: "http://h\(number % 10).example/") else { return }
                    jar.store(["c\(number)=1"], from: url, at: present)
                    _ = jar.cookies(for: Request(.get, url), at: present)
                }
            }
        }
        #expect(jar.cookies.count == 1000)
    }
}
