import Foundation
import Testing
import TurnpikeCore

@Suite("PlainAuthority")
struct PlainAuthorityTests {
    private static let schemes = ["http", "https", "HTTP", "httpx", "ftp"]
    private static let authorities = [
        "a", "a.example", "A.example", "127.0.0.1", "[::1]", "user@a", "user:pass@a", "a-b_c.d",
        "-", "...", "%61", "ä.example", "", "a b",
    ]
    private static let ports = ["", ":", ":1", ":080", ":443", ":65535", ":65536", ":0", ":x"]
    private static let rests = ["", "/", "/p@q", "?q=@", "#f@g", "\\", "/%41?a=b#c"]

    @Test("What it says of a URL is what the URL says")
    func agrees() {
        var plain = 0
        for scheme in Self.schemes {
            for authority in Self.authorities {
                for (port, rest) in Self.ports.flatMap({ port in Self.rests.map { (port, $0) } }) {
                    let text = "\(scheme)://\(authority)\(port)\(rest)"
                    guard let url = URL(string: text), let found = PlainAuthority(url) else {
                        continue
                    }
                    plain += 1
                    #expect(found.host == url.host(percentEncoded: false), "\(text)")
                    #expect(found.port == url.port, "\(text)")
                    #expect(found.isSecure == (url.scheme == "https"), "\(text)")
                    #expect(url.user == nil && url.password == nil, "\(text)")
                }
            }
        }
        #expect(plain > 100)
    }

    @Test(
        "What is not plain is left to the URL",
        arguments: [
            "http://user@a/", "http://A/", "http://[::1]/", "http://-/", "http://a:0/",
            "http://a:/",
            "http://a:65536/", "ftp://a/", "http://%61/", "httpx://a/",
        ])
    func leaves(text: String) throws {
        #expect(PlainAuthority(try #require(URL(string: text))) == nil)
    }

    @Test("A reference has the authority of its base")
    func relative() throws {
        let base = try #require(URL(string: "http://a.example:81/x"))
        let url = try #require(URL(string: "y", relativeTo: base))
        #expect(PlainAuthority(url)?.host == "a.example")
        #expect(PlainAuthority(url)?.port == 81)
    }
}
