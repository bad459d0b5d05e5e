// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("Lists of endpoints")
struct EndpointCheckTests {
    private func list(_ resolver: any EndpointResolver) async throws -> EndpointList {
        try await resolver.endpoints(in: Context())
    }

    private func fault(_ resolver: any EndpointResolver) async throws -> String {
        do {
            _ = try await list(resolver)
        } catch let error as ClientError where error.code == .configuration {
            return error.message
        }
        Issue.record("the list was used")
        return ""
    }

    private func fault(inJSON text: String) throws -> String {
        let check = EndpointReader.read(try JSONValue(parsing: text))
        return try #require(check.faults.error(in: "it")).message
    }

    @Test("Texts name hosts, addresses and sockets")
    func texts() async throws {
        let found = try await list(
            .list([
                "10.0.0.7:8080", "[2001:db8::7]:80", "users-1.internal:1", "unix:/run/x.sock",
            ]))
        #expect(
            found.endpoints.map(\.target) == [
                .host("10.0.0.7", port: 8080), .host("2001:db8::7", port: 80),
                .host("users-1.internal", port: 1), .unixSocket("/run/x.sock"),
            ])
        #expect(found.freshFor == nil)
        #expect(
            found.endpoints.map(\.description) == [
                "10.0.0.7:8080", "[2001:db8::7]:80", "users-1.internal:1", "unix:/run/x.sock",
            ])
    }

    @Test(
        "A text that is no endpoint says what was expected",
        arguments: [
            "", ":", ":80", "10.0.0.7", "10.0.0.7:", "10.0.0.7:x", "10.0.0.7:+80",
            "10.0.0.7:080808",
            "10.0.0.7:0", "10.0.0.7:65536", "::1:80", "[::1]", "[::1", "[x]:80", "[10.0.0.7]:80",
            "http://10.0.0.7:80", "a b:80", "a\r\nb:80", "ä:80", "unix:", "unix:run/x",
            "unix:/a\u{0}b", "fe80::1%eth0:80", "[fe80::1%eth0]:80", "[[::1]]:80",
            "0177.1:80", "010.0.0.7:80", "10.7:80", "0x7f.1:80", "1.2.3.4.5:80", "a..b:80", ".a:80",
            "10.0.0.7:٨٠", String(repeating: "x", count: 1_000_000) + ":80",
            "x:80" + String(repeating: "\u{301}", count: 1_000_000),
            "unix:/" + String(repeating: "x", count: 200),
        ])
    func wrongTexts(_ text: String) async throws {
        let message = try await fault(.list(["10.0.0.1:80", text]))
        #expect(message.hasPrefix("the list of endpoints cannot be used: endpoints[1]: found "))
        #expect(message.contains("expected"))
        #expect(message.utf8.count < 500)
    }

    @Test(
        "An endpoint outside of its bounds is named with its place",
        arguments: [
            (Endpoint("a", port: 1, weight: 0), "endpoints[0].weight: found 0.0; expected"),
            (Endpoint("a", port: 1, weight: -1), "endpoints[0].weight: found -1.0"),
            (Endpoint("a", port: 1, weight: .nan), "endpoints[0].weight: found nan"),
            (Endpoint("a", port: 1, weight: .infinity), "endpoints[0].weight: found inf"),
            (Endpoint("a", port: 1, weight: 1e300), "endpoints[0].weight: found 1e+300"),
            (Endpoint("a", port: 1, weight: 1e-300), "endpoints[0].weight: found 1e-300"),
            (Endpoint("a", port: 0), "endpoints[0]: found the port 0"),
            (Endpoint("a", port: .max), "endpoints[0]: found the port 9223372036854775807"),
            (Endpoint("a", port: 1, zone: ""), "endpoints[0].zone: found an empty text"),
            (Endpoint("a", port: 1, zone: "a\nb"), "endpoints[0].zone: found a control character"),
            (
                Endpoint("a", port: 1, zone: String(repeating: "y", count: 2000)),
                "endpoints[0].zone: found 2000 bytes; expected 1 to 1024"
            ),
        ])
    func bounds(_ endpoint: Endpoint, _ part: String) async throws {
        #expect(try await fault(.list([endpoint])).contains(part))
    }

    @Test("An empty list and a list of too many are errors")
    func counts() async throws {
        #expect(
            try await fault(.list([Endpoint]()))
                == "the list of endpoints cannot be used: endpoints: found an empty list; expected at"
                + " least one endpoint")
        let many = [Endpoint](repeating: Endpoint("a", port: 1), count: 100_001)
        #expect(
            try await fault(.list(many)).contains("found 100001 endpoints; expected at most 100000")
        )
        let most = (0..<100_000).map {
            Endpoint("10.0.\($0 >> 8 & 0xFF).\($0 & 0xFF)", port: 1 + $0 >> 16)
        }
        #expect(try await list(.list(most)).endpoints.count == 100_000)
    }

    @Test("A repeated entry is dropped; one that contradicts is an error")
    func duplicates() async throws {
        let first = Endpoint("users-1.Internal", port: 80, weight: 2, zone: "a")
        let same = Endpoint("USERS-1.internal", port: 80, weight: 2, zone: "a")
        let other = Endpoint("users-1.internal", port: 80, weight: 3, zone: "a")
        let six = ["[::1]:80", "[0:0:0:0:0:0:0:1]:80", "[::1]:81"]
        #expect(try await list(.list([first, same])).endpoints == [first])
        #expect(try await list(.list(six)).endpoints.count == 2)
        #expect(
            try await fault(.list([first, Endpoint("b", port: 1), other])).contains(
                "endpoints[2]: found users-1.internal:80 a second time, with another weight or"
                    + " zone; expected the weight and zone of endpoints[0]"))
    }

    @Test("Of many mistakes the first are shown, and the number of the others")
    func manyMistakes() async throws {
        let message = try await fault(.list([String](repeating: "x", count: 1000)))
        #expect(message.contains("endpoints[2]") && !message.contains("endpoints[3]"))
        #expect(message.hasSuffix("and 997 more like these"))
    }

    @Test("JSON has texts and objects, as a list or within an object")
    func json() throws {
        let text = #"""
            {"version": 7, "endpoints": [
              "10.0.0.7:8080",
              {"address": "10.0.0.8", "port": 8080, "weight": 0.5, "zone": "a",
               "labels": {"version": "7", "empty": ""}},
              {"address": "::1", "port": 1}, {"address": "[::1]", "port": 2},
              {"address": "10.0.0.9:1", "port": null, "weight": null},
              {"address": "unix:/run/x.sock"}]}
            """#
        let found = try EndpointReader.read(try JSONValue(parsing: text)).result(of: "it")
        #expect(
            found == [
                Endpoint("10.0.0.7", port: 8080),
                Endpoint("10.0.0.8", port: 8080, weight: 0.5, zone: "a"),
                Endpoint("::1", port: 1), Endpoint("::1", port: 2), Endpoint("10.0.0.9", port: 1),
                Endpoint(.unixSocket("/run/x.sock")),
            ])
        let list = try EndpointReader.read(try JSONValue(parsing: #"["a:1"]"#)).result(of: "it")
        #expect(list == [Endpoint("a", port: 1)])
    }

    @Test(
        "JSON with a mistake says where it is",
        arguments: [
            ("7", "found a number; expected an array of endpoints"),
            ("{}", #"found an object without "endpoints""#),
            (#"{"endpoints": "a:1"}"#, #"found a string as "endpoints""#),
            ("[]", "endpoints: found an empty list"),
            ("[7]", "endpoints[0]: found a number; expected a string such as"),
            ("[null]", "endpoints[0]: found null"),
            ("[{}]", #"endpoints[0]: found no "address""#),
            (#"[{"address": 7}]"#, #"endpoints[0]: found a number as "address""#),
            (
                #"[{"address": "a"}]"#,
                #"endpoints[0]: found "a"; expected an address with its port"#
            ),
            (
                #"[{"address": "a", "port": "1"}]"#,
                #"found a string as "port"; expected an integer"#
            ),
            (#"[{"address": "a", "port": 1.5}]"#, #"found 1.5 as "port"; expected an integer"#),
            (#"[{"address": "a", "port": 70000}]"#, "endpoints[0]: found the port 70000"),
            (
                #"[{"address": "a", "port": 99999999999999999999999}]"#,
                "found 99999999999999999999999"
            ),
            (
                #"[{"address": "a:1", "port": 2}]"#,
                #"endpoints[0]: found "a:1" as an endpoint's host"#
            ),
            (#"[{"address": "unix:/x", "port": 2}]"#, #"found a "port" beside a Unix socket"#),
            (
                #"["a:1", {"address": "a", "port": 2, "wieght": 2}]"#,
                #"endpoints[1].wieght: there is no such member; did you mean "weight"?"#
            ),
            (
                #"[{"address": "a", "port": 2, "weight": "2"}]"#,
                "endpoints[0].weight: found a string"
            ),
            (#"[{"address": "a", "port": 2, "weight": 0}]"#, "endpoints[0].weight: found 0.0"),
            (
                #"[{"address": "a", "port": 2, "zone": 7}]"#,
                "endpoints[0].zone: found a number; expected a string"
            ),
        ])
    func wrongJSON(_ text: String, _ part: String) throws {
        #expect(try fault(inJSON: text).contains(part))
    }

    @Test("Text that is parsed alone throws what was found")
    func parsing() throws {
        let endpoint = try Endpoint(parsing: "a:1", weight: 2, zone: "z")
        #expect(endpoint == Endpoint("a", port: 1, weight: 2, zone: "z"))
        #expect {
            try Endpoint(parsing: "a")
        } throws: {
            ($0 as? ClientError)?.code == .configuration
        }
    }
}
