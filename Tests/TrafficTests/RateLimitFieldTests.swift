// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("RateLimit, RateLimit-Policy and Retry-After")
struct RateLimitFieldTests {
    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    private func headers(_ name: HTTPHeaders.Name, _ lines: String...) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for line in lines { headers.appendReceived(name, line) }
        return headers
    }

    @Test("The examples of the draft are read")
    func examples() {
        #expect(
            headers(.rateLimit, #""default";r=50;t=30"#).rateLimits == [
                ServiceLimit(
                    policy: "default", availableQuota: 50, effectiveWindow: .seconds(30))
            ])
        #expect(
            headers(.rateLimit, #""default";r=999;pk=:dHJpYWwxMjEzMjM=:"#).rateLimits == [
                ServiceLimit(
                    policy: "default", availableQuota: 999, partitionKey: Data("trial121323".utf8))
            ])
        #expect(
            headers(.rateLimitPolicy, #""burst";q=100;w=60,"daily";q=1000;w=86400"#)
                .rateLimitPolicies == [
                    QuotaPolicy(name: "burst", quota: 100, window: .seconds(60)),
                    QuotaPolicy(name: "daily", quota: 1000, window: .seconds(86_400)),
                ])
        let user = headers(
            .rateLimitPolicy, #""peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:"#
        ).rateLimitPolicies
        #expect(user.first?.unit == "content-bytes" && user.first?.partitionKey?.count == 7)
    }

    @Test(
        "What the grammar allows is read",
        arguments: [
            (#"  "a";r=1  "#, ["a 1"]), (#""a";r=1 ,\t"b";r=2"#, ["a 1", "b 2"]),
            (#""a"; r=1;  t=2"#, ["a 1"]), (#""a";r=1;r=2"#, ["a 2"]),
            (#""a";x;r=1"#, ["a 1"]), (#""a";x=?0;y=1.5;z=tok/en:*;*k-._=@-9;r=1"#, ["a 1"]),
            (#""a";x=%"f%c3%bc";r=1"#, ["a 1"]), (#""\"\\";r=0"#, [#""\ 0"#]),
            ("\"\";r=999999999999999", [" 999999999999999"]), (#""a";r=007"#, ["a 7"]),
            // Values of types that the fields do not have are skipped.
            (#""a";r=1;x=?2;y=1.2345;z=%"%ff""#, ["a 1"]), (#""a";r=1;pk=:YQ:"#, ["a 1"]),
            (#""a";r=1;pk=::"#, ["a 1"]), (#""a";r=-0"#, ["a 0"]),
        ])
    func reads(line: String, expected: [String]) {
        let limits = headers(.rateLimit, line.replacing("\\t", with: "\t")).rateLimits
        #expect(limits.map { "\($0.policy) \($0.availableQuota)" } == expected)
    }

    @Test(
        "A field that is malformed anywhere is not there",
        arguments: [
            "", " ", ",", #""a";r=1,"#, #""a";r=1,,"b";r=1"#, #","a";r=1"#, #""a"r=1"#, #""a";r"#,
            #""a""#, #""a";t=1"#, #""a";r=-1"#, #""a";r=1.0"#, #""a";r="1""#, #""a";r=1e3"#,
            #""a";r=1000000000000000"#, #""a";r=99999999999999999999999999"#, #""a";r=-"#,
            #""a";r=1;t=-1"#, #""a";r=1;t=x"#, #""a";r=1;pk="a""#, #""a";r=1;pk=:a:"#,
            #""a";r=1;pk=:YQ"#, #""a";r=1;pk=:Y Q:"#, #""a";R=1"#, #""a";r=1;"#, #""a";r=1 x"#,
            #""a";r = 1"#, #"a;r=1"#, #"5;r=1"#, #":YQ==:;r=1"#, #"("a");r=1"#, #""a;r=1"#,
            #""\x";r=1"#, "\"\u{e4}\";r=1", "\"\u{7}\";r=1", #""a";r=1;x=%"%c"#,
            #""a";r=1;x=%a"#, #""a";r=1;x=="#, #""a";r=1;x"y"#,
            "limit=100, remaining=50, reset=50", "100", "\"a\";r=1\u{301}",
        ])
    func malformed(line: String) {
        #expect(headers(.rateLimit, line).rateLimits.isEmpty)
        #expect(headers(.rateLimit, #""b";r=1"#, line).rateLimits.isEmpty)
        let policy = line.replacing("r=", with: "q=").replacing("t=", with: "w=")
        #expect(headers(.rateLimitPolicy, policy).rateLimitPolicies.isEmpty)
    }

    @Test("A policy has a window that is not zero, and a unit that is a string")
    func policies() {
        for line in [#""a";q=1;w=0"#, #""a";q=1;qu=requests"#, #""a";w=1"#, #""a";q=1;qu"#] {
            #expect(headers(.rateLimitPolicy, line).rateLimitPolicies.isEmpty)
        }
        let read = headers(.rateLimitPolicy, #""a";q=0"#).rateLimitPolicies
        #expect(read == [QuotaPolicy(name: "a", quota: 0, unit: "requests", window: nil)])
    }

    @Test("Lines are one list, and a missing field is none")
    func lines() {
        let limits = headers(.rateLimit, #""a";r=1"#, #""b";r=2"#).rateLimits
        #expect(limits.map(\.policy) == ["a", "b"])
        #expect(HTTPHeaders().rateLimits.isEmpty && HTTPHeaders().rateLimitPolicies.isEmpty)
        #expect(headers("X-RateLimit-Remaining", "5").rateLimits.isEmpty)
    }

    @Test(
        "Retry-After is read in seconds and as a date",
        arguments: [
            ("120", 120), ("0", 0), ("Tue, 14 Nov 2023 22:15:20 GMT", 120),
            ("Tue, 14 Nov 2023 22:13:15 GMT", 0), ("5, 7", 7),
            ("99999999999999999999999999", 1_000_000_000),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 251_702_300_799), ("-1", nil), ("1.5", nil),
            ("soon", nil), ("", nil), ("+5", nil), ("0x10", nil), ("\u{0665}", nil),
            ("Tue, 14 Nov 2023 22:15:20 UTC", nil),
        ] as [(String, Int64?)])
    func retryAfter(line: String, seconds: Int64?) {
        let wait = headers(.retryAfter, line).retryAfter(at: now)
        #expect(wait == seconds.map { .seconds($0) })
    }

    @Test("Of several lines the longest wait counts, and none is nil")
    func waits() {
        let several = headers(.retryAfter, "5", "Tue, 14 Nov 2023 22:13:50 GMT", "junk")
        #expect(several.retryAfter(at: now) == .seconds(30))
        #expect(HTTPHeaders().retryAfter(at: now) == nil)
    }

    @Test(
        "No date of the caller's traps",
        arguments: [.infinity, -.infinity, .nan, 1e300, -1e300, 8e15] as [Double])
    func dates(seconds: Double) {
        let now = Date(timeIntervalSince1970: seconds)
        for line in ["Tue, 14 Nov 2023 22:15:20 GMT", "Tuesday, 14-Nov-23 22:15:20 GMT", "7"] {
            let wait = headers(.retryAfter, line).retryAfter(at: now)
            #expect(wait.map { $0 >= .zero } ?? true)
        }
    }
}
