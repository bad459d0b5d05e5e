// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeAuthentication
@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeCurl
@testable import TurnpikeDownloads
@testable import TurnpikeMiddleware
@testable import TurnpikeResumableUploads
@testable import TurnpikeSerializers
@testable import TurnpikeURLSession
@testable import TurnpikeTraffic

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What servers say in header fields, and what stands in URLs.
@Suite("The cost of header fields and URLs")
struct HeaderCosts {
    private static let date = Date(timeIntervalSince1970: 1_700_000_000)
    private static let url = site.appending(path: "a/b")
    private static let uri = TargetURI(url)
    private static let site = URL(string: "https://www.example.com") ?? URL(filePath: "/")

    private static func head(_ fields: [(String, String)]) -> ResponseHead {
        ResponseHead(status: 200, headers: HTTPHeaders(fields), url: url)
    }

    private static func row(
        _ name: String, _ unit: String, before: String = "", after: String = "", size: Int = 50_000,
        read: @escaping @Sendable (String) throws -> Void
    ) -> Hostile {
        Hostile("\(name), “\(Grammar.escaped(before + unit + after, upTo: 40))”", size: size) {
            before + Hostile.text(unit, $0) + after
        } read: {
            try read($0)
        }
    }

    // What is like nothing, and what looks like something at each place.
    private static let units = [
        "a", ",", ";", "=", " ", "\t", "\"", "\\", "\\\"", "a,", "a;", "a=b;", "a=\"b\",", "=,",
        "; ", ", ",
        "a b ", "é", "a\u{301}", "\u{1F1E6}", "'", "%", "%41", "/", ".", "a.", ":", "-", "1", "1,",
        "&a=",
        "@", "[", "<a>", "q=1;", "*", "+json", "://", "{", "?", "#", "!", "Sun, ", "eyJ", "token=",
    ]

    private static func parsers(_ text: String) -> [(String, @Sendable () -> Void)] {
        [
            ("media type", { _ = MediaType(parsing: "a/b;" + text) }),
            ("media type alone", { _ = MediaType(parsing: text) }),
            ("list of media types", { _ = MediaType.list(text) }),
            ("date", { _ = HTTPDate.parse(text, now: date) }),
            ("cookie date", { _ = CookieDate.parse(text) }),
            ("Set-Cookie", { _ = Cookie(setCookie: text, from: url, at: date) }),
            (
                "Set-Cookie attributes",
                { _ = Cookie(setCookie: "a=b; " + text, from: url, at: date) }
            ),
            ("joined Set-Cookie lines", { _ = SetCookieLines.split("a=b; c, " + text) }),
            (
                "challenge",
                {
                    _ = AuthenticationChallenge.challenges(in: [
                        "WWW-Authenticate": "Digest " + text
                    ])
                }
            ),
            (
                "Digest challenge",
                {
                    _ = DigestChallenge.strongest(
                        in: head([
                            ("WWW-Authenticate", "Digest realm=a, nonce=b, domain=\"\(text)\"")
                        ]))
                }
            ),
            ("Strict-Transport-Security", { _ = HSTSPolicy("max-age=1;" + text) }),
            ("Link", { _ = head([("Link", "<a>;" + text)]).headers.links.map(\.relations) }),
            ("Retry-After", { _ = head([("Retry-After", text)]).headers.retryAfter(at: date) }),
            ("RateLimit", { _ = head([("RateLimit", text)]).headers.rateLimits }),
            (
                "RateLimit parameters",
                { _ = head([("RateLimit", "\"a\";r=1;" + text)]).headers.rateLimits }
            ),
            (
                "RateLimit-Policy",
                { _ = head([("RateLimit-Policy", "\"" + text)]).headers.rateLimitPolicies }
            ),
            (
                "Upload-Limit",
                {
                    var limits = UploadLimits()
                    limits.read(head([("Upload-Limit", "max-size=" + text)]), now: date)
                }
            ),
            (
                "Upload-Complete",
                {
                    let head = head([("Upload-Complete", "?1" + text)])
                    _ = ResumableUploadOptions.Dialect.draft.isOver(head, length: 1)
                }
            ),
            ("traceparent", { _ = TraceParent(parsing: text) }),
            (
                "tracestate",
                {
                    _ = TraceParent(
                        parsing: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                        tracestate: text)
                }
            ),
            (
                "suggested file name",
                {
                    _ =
                        head([("Content-Disposition", "attachment; filename=" + text)])
                        .suggestedFilename
                }
            ),
            (
                "suggested file name, quoted",
                {
                    _ =
                        head([("Content-Disposition", "attachment; filename=\"" + text)])
                        .suggestedFilename
                }
            ),
            (
                "suggested file name, extended",
                {
                    _ =
                        head([("Content-Disposition", "attachment; filename*=UTF-8''" + text)])
                        .suggestedFilename
                }
            ),
            ("IP address", { _ = IPAddress(text) }),
            ("IPv6 address", { _ = IPAddress("::" + text) }),
            ("host name", { _ = HostName(text) }),
            ("host pattern", { _ = HostPattern(text) }),
            ("public suffix", { _ = PublicSuffixes.standard.contains(text) }),
            ("list of public suffixes", { _ = PublicSuffixes(parsing: text) }),
            ("credential origins", { _ = CredentialOrigins(parsing: [text, "https://" + text]) }),
            ("relative target", { _ = Request(.get, Target(text), relativeTo: url).fault }),
            ("host of a target", { _ = Request(.get, Target("http://" + text)).fault }),
            ("user of a target", { _ = Request(.get, Target("http://" + text + "@h/")).fault }),
            ("path of a target", { _ = Request(.get, Target("http://h/" + text)).fault }),
            ("query of a target", { _ = Request(.get, Target("http://h/?" + text)).fault }),
            ("reference", { _ = TargetURI(reference: text, relativeTo: uri) }),
            (
                "reference with an escape",
                { _ = TargetURI(reference: "%41" + text, relativeTo: uri) }
            ),
            (
                "reference to a host",
                { _ = TargetURI(reference: "//" + text, relativeTo: uri)?.origin }
            ),
            ("path template", { _ = Target.path(text, ["a": "b"]) }),
            ("redacted URL", { _ = Redaction.standard.url(text) }),
            ("redacted text", { _ = Redaction.standard.text(text) }),
            ("escaped text", { _ = Grammar.escaped(text, upTo: 100) }),
            ("near miss", { _ = NearMiss.hint(for: text, among: ["retry", text + "x"]) }),
            (
                "charset",
                {
                    _ = try? StringSerializer().serialize(
                        Data("x".utf8), of: head([("Content-Type", "a/b;charset=" + text)]))
                }
            ),
        ]
    }

    private static var texts: [Hostile] {
        let names = parsers("").map(\.0)
        return names.indices.flatMap { index in
            units.map { unit in row(names[index], unit, size: 5_000) { parsers($0)[index].1() } }
        }
    }

    private static let structured: [Hostile] = [
        row("dotted host of a redirect", "a.", before: "http://", after: "com/") { text in
            let jar = CookieJar()
            let store = HSTSStore()
            jar.store(["a=b"], from: url, at: date)
            store.store("max-age=9", from: "example.com", at: date)
            guard let target = TargetURI(reference: text)?.url else { return }
            _ = jar.cookies(for: Request(.get, target), at: date)
            _ = store.requiresTLS(target.host() ?? "", at: date)
        },
        row("joined Location lines", ", ", before: "/", size: 400_000) { text in
            let response = HTTPURLResponse(
                url: site, statusCode: 302, httpVersion: nil, headerFields: ["Location": text])
            guard let response else { return }
            _ = URLSessionHead.head(of: response, to: url, method: "GET")
        },
        Hostile("dots between which sites are told") {
            Hostile.text("a.", $0) + "com"
        } read: { host in
            let suffixes = PublicSuffixes(parsing: "com\n*.ck\n!www.ck")
            guard let url = URL(string: "https://\(host)/x") else { return }
            var request = Request(.get, site)
            request.options[RedirectTrail.self] = [Origin(url)].compactMap(\.self)
            let jar = CookieJar(suffixes: suffixes)
            jar.store(["a=b; SameSite=Strict"], from: url, at: date)
            _ = jar.cookies(for: request, at: date)
        },
        Hostile("letters beyond ASCII in a host") { size in
            "//"
                + String(
                    String.UnicodeScalarView(
                        (0..<size / 3).compactMap { Unicode.Scalar(0x4E00 + $0 % 20_000) }))
        } read: {
            _ = TargetURI(reference: $0, relativeTo: uri)
        },
        Hostile("parameters of a link") {
            "<a>" + Hostile.numbered($0) { ";p\($0)" }
        } read: {
            _ = head([("Link", $0)]).headers.links
        },
        Hostile("relations of a link") {
            "<a>;rel=\"" + Hostile.numbered($0) { "r\($0) " } + "\""
        } read: {
            _ = head([("Link", $0)]).headers.links.map(\.relations)
        },
        Hostile("lines of one field") {
            lines($0) { _ in "A" }
        } read: {
            work(on: $0)
        },
        Hostile("lines of many fields") {
            lines($0) { "A\($0)" }
        } read: {
            work(on: $0)
        },
        Hostile("lines of Set-Cookie", size: 20_000) { size in
            (0..<size / 20).map { "n\($0)=v; Path=/\($0)" }
        } read: { lines in
            let jar = CookieJar()
            jar.store(lines, from: url, at: date)
            _ = jar.cookies(for: Request(.get, url), at: date)
        },
    ]

    private static func lines(_ size: Int, _ name: (Int) -> String) -> HTTPHeaders {
        HTTPHeaders((0..<size / 8).map { (name($0), "b") })
    }

    private static func work(on headers: HTTPHeaders) {
        var headers = headers
        _ = headers["a"]
        _ = headers.values(of: "A")
        _ = headers.byteCount
        _ = headers.redactedLines()
        _ = headers.sendingFault
        headers["A"] = "c"
        headers.remove("A")
        _ = headers == HTTPHeaders(headers.map { ($0.name.rawValue, $0.value) })
    }

    @Test("grows with the size of a text, and not with the square", arguments: texts)
    func text(row: Hostile) async throws { try await row.check() }

    @Test("grows with the number of parts, and not with the square", arguments: structured)
    func parts(row: Hostile) async throws { try await row.check() }
}
