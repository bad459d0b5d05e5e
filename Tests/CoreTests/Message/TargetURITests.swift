// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore

@Suite("TargetURI")
struct TargetURITests {
    private static let schemes = ["http", "https", "HTTP", "httpx", "ftp"]
    private static let authorities = [
        "a", "a.example", "A.example", "127.0.0.1", "[::1]", "[fe80::1%25eth0]", "user@a",
        "user:pass@a", ":p@a", "u:@[::1]", "@a", "u@v@a", "a-b_c.d", "-", "...", "%61", "", "a b",
        "::1", "a[b]",
    ]
    private static let ports = [
        "", ":", ":1", ":080", ":443", ":65535", ":65536", ":0", ":x", ":1:2",
        ":18446744073709551617",
    ]
    private static let rests = [
        "", "/", "/p@q", "?q=@", "#f@g", "\\", "/%41?a=b#c", "?", "#", "/:x?[y]#a#b",
    ]

    @Test("A TargetURI agrees with Foundation's URL")
    func agrees() throws {
        var read = 0
        for scheme in Self.schemes {
            for authority in Self.authorities {
                for (port, rest) in Self.ports.flatMap({ port in Self.rests.map { (port, $0) } }) {
                    let text = "\(scheme)://\(authority)\(port)\(rest)"
                    guard let url = URL(string: text) else { continue }
                    read += 1
                    check(TargetURI(url), of: url)
                }
            }
        }
        #expect(read > 1000)
    }

    private func check(_ uri: TargetURI, of url: URL) {
        let path = url.path(percentEncoded: true)
        let query = url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        #expect(uri.originForm == (path.isEmpty ? "/" : path) + query, "\(url)")
        let user = url.user(percentEncoded: true)
        let password = url.password(percentEncoded: true).map { ":" + $0 } ?? ""
        #expect(uri.userInformation == user.map { $0 + password }, "\(url)")
        let host = url.host(percentEncoded: true) ?? ""
        let scheme = url.scheme?.lowercased() ?? ""
        guard let standard = Origin.defaultPort(scheme), !host.isEmpty else {
            #expect(uri.origin == nil, "\(url)")
            return
        }
        let origin = Origin(scheme: scheme, host: host, port: url.port ?? standard)
        #expect(uri.origin == origin, "\(url)")
        #expect(Origin(url) == origin, "\(url)")
    }

    @Test("A relative URL of Foundation has the authority of its base")
    func relative() throws {
        let base = try #require(URL(string: "http://a.example:81/x"))
        let url = try #require(URL(string: "y", relativeTo: base))
        #expect(TargetURI(url).origin == Origin(scheme: "http", host: "a.example", port: 81))
        #expect(TargetURI(url).originForm == "/y")
    }

    @Test("Non-ASCII host names become punycode, also with user information")
    func international() throws {
        let url = try #require(URL(string: "http://ä@ö/"))
        #expect(TargetURI(url).origin?.host == "xn--nda")
    }

    @Test(
        "The absolute form omits user and fragment, and keeps every other byte",
        arguments: [
            ("http://u:p@h:1/%2f%2F?#f", "http://h:1/%2f%2F?"), ("http://h#", "http://h"),
            ("HTTP://H?x", "HTTP://H?x"), ("http://@h/", "http://h/"),
            ("http://u@[::1]/a@b", "http://[::1]/a@b"), ("http://h/a?b?c", "http://h/a?b?c"),
        ])
    func absoluteForm(text: String, form: String) throws {
        #expect(try TargetURI(#require(URL(string: text))).absoluteForm == form)
    }

    // RFC 3986 §5.4, without those that name no host.
    private static let examples = [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"),
        ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y#s"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"),
        ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
        ("http://h/x", "http://h/x"), ("é g%2f", "http://a/b/c/%C3%A9%20g%2f"),
        ("//ö/", "http://xn--nda/"),
    ]

    @Test("Resolves the examples of RFC 3986 §5.4", arguments: examples)
    func resolves(reference: String, expected: String) throws {
        let base = TargetURI(try #require(URL(string: "http://a/b/c/d;p?q")))
        let uri = try #require(TargetURI(reference: reference, relativeTo: base))
        #expect(uri.url.absoluteString == expected)
    }

    @Test(
        "Resolves against bases without a path, with a query and with escapes",
        arguments: [
            ("http://h", "x", "http://h/x"), ("http://h?q/r", "x", "http://h/x"),
            ("http://h/a%2Fb/?q#f", "é", "http://h/a%2Fb/%C3%A9"),
            ("http://h/a#f", "?", "http://h/a?"), ("http://h/a?b#f", "#", "http://h/a?b#"),
        ])
    func bases(base: String, reference: String, expected: String) throws {
        let base = TargetURI(try #require(URL(string: base)))
        let uri = try #require(TargetURI(reference: reference, relativeTo: base))
        #expect(uri.url.absoluteString == expected)
    }

    @Test("An empty or invalid reference gives nil")
    func none() throws {
        let base = TargetURI(try #require(URL(string: "http://h/a")))
        for text in ["", "http://h:x/", "http://[::1", "//" + String(repeating: "a", count: 5000)] {
            #expect(TargetURI(reference: text, relativeTo: base) == nil)
        }
    }
}
