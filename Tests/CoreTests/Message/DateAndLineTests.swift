// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeSupport

@testable import TurnpikeCore

@Suite("HTTPDate")
struct HTTPDateTests {
    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    @Test(
        "HTTPDate reads the three forms of RFC 9110",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994", " Sun, 06 Nov 1994 08:49:37 GMT ",
            "sun, 06 NOV 1994 08:49:37 gmt", "Sun Nov 06 08:49:37 1994",
        ])
    func forms(text: String) {
        #expect(HTTPDate.parse(text, now: now) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test("The 60th second is a leap second")
    func leapSecond() {
        #expect(
            HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT", now: now)
                == Date(timeIntervalSince1970: 1_483_228_800))
    }

    @Test("A year of two digits lies at most fifty years ahead")
    func twoDigits() {
        let near = HTTPDate.parse("Sunday, 06-Nov-60 08:49:37 GMT", now: now)
        #expect(near.map { HTTPDate.format($0) }?.contains("2060") == true)
        let far = HTTPDate.parse("Sunday, 06-Nov-80 08:49:37 GMT", now: now)
        #expect(far.map { HTTPDate.format($0) }?.contains("1980") == true)
    }

    @Test(
        "A text that is not a date gives nil",
        arguments: [
            "", "0", "-1", "tomorrow", "Sun, 31 Feb 2024 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37 PST",
            "Sun, 06 Nov 99999 08:49:37 GMT",
            "Sun, 06 Nov 1600 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT,",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun Nov 6 08:49:37 1994", "Sun, 06 Nov 1994",
            "06 Nov 1994 08:49:37 GMT", "Sun, 06 No\u{301}v 1994 08:49:37 GMT",
        ])
    func nonsense(text: String) { #expect(HTTPDate.parse(text, now: now) == nil) }

    @Test(
        "HTTPDate writes what it reads",
        arguments: [0, 784_111_777, 951_782_400, 1_709_164_800, 4_102_444_799])
    func roundTrip(seconds: Double) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(HTTPDate.parse(HTTPDate.format(date), now: now) == date)
    }

    @Test("HTTPDate writes the weekday")
    func weekday() {
        #expect(HTTPDate.format(Date(timeIntervalSince1970: 0)) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.format(Date(timeIntervalSince1970: .nan)).hasSuffix(" GMT"))
        #expect(
            HTTPDate.format(Date(timeIntervalSince1970: -86_400)) == "Wed, 31 Dec 1969 00:00:00 GMT"
        )
        #expect(HTTPDate.format(.distantFuture).hasSuffix("GMT"))
    }
}

@Suite("Redaction")
struct RedactionTests {
    @Test(
        "Secrets in URLs are hidden",
        arguments: [
            ("http://u:p@h/x", "http://REDACTED@h/x"),
            ("http://h/?a=1&api_key=x&b=2", "http://h/?a=1&api_key=REDACTED&b=2"),
            ("http://h/?X-Amz-Signature=x", "http://h/?X-Amz-Signature=REDACTED"),
            ("http://h/?sig=x#t", "http://h/?sig=REDACTED#t"),
            ("http://h/#access_token=x&state=1", "http://h/#access_token=REDACTED&state=1"),
            ("http://h/?access%5Ftoken=x", "http://h/?access%5Ftoken=REDACTED"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://h/?client_secret=x&grant=y", "http://h/?client_secret=REDACTED&grant=y"),
        ])
    func urls(text: String, expected: String) { #expect(Redaction.standard.url(text) == expected) }

    @Test("Names can be added to the hidden ones, but not removed")
    func adding() {
        let stricter = Redaction.standard.adding(headers: ["X-Tenant"], query: ["user"])
        #expect(stricter.hides(header: "x-tenant"))
        #expect(stricter.hides(header: .authorization))
        #expect(
            stricter.url("http://h/?user=1&token=2") == "http://h/?user=REDACTED&token=REDACTED")
        #expect(!Redaction.standard.hides(header: "x-tenant"))
    }

    @Test("Printed text cannot forge a line")
    func controls() {
        #expect(Redaction.standard.url("http://h/\r\nx") == "http://h/\\u{d}\\u{a}x")
        #expect(Redaction.standard.text("a\u{1B}[0m\u{202E}b") == "a\\u{1b}[0m\\u{202e}b")
        #expect(HTTPMethod("GET\n").description == "(invalid method)")
    }

    @Test("An error prints neither its request's nor its cause's secrets")
    func errors() throws {
        struct Cause: Error, CustomStringConvertible {
            let description = "failed for https://u:s3cret@h/?token=s3cret now"
        }
        let request = Request(
            .get, "https://u:s3cret@h.example/?token=s3cret", headers: ["Cookie": "s3cret"])
        let error = ClientError(
            .connection, "it broke", underlying: Cause(), responseBody: Data("s3cret".utf8)
        )
        .completed(sent: request, attempts: 2)
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", String(reflecting: error), dumped, error.localizedDescription] {
            #expect(!text.contains("s3cret"), "\(text)")
        }
        #expect("\(error)".contains("sent 2 times"))
    }
}
