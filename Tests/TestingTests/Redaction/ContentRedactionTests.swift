// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeCore

@testable import TurnpikeTesting

@Suite("Redaction of whole contents")
struct ContentRedactionTests {
    private static let secret = Data(ContentSample.secret.utf8)

    // As it is, without the zeros of wider encodings, and in what stands in base64.
    private func tells(_ data: Data, _ secret: Data = secret) -> Bool {
        if data.range(of: secret) != nil || Data(data.filter { $0 != 0 }).range(of: secret) != nil {
            return true
        }
        let text = String(decoding: data, as: UTF8.self)
        return text.split { !($0.isLetter || $0.isNumber || "+/".contains($0)) }.contains { word in
            let padded = String(word) + String(repeating: "=", count: (4 - word.count % 4) % 4)
            return word.count >= 16 && Data(base64Encoded: padded)?.range(of: secret) != nil
        }
    }

    @Test("No kind of content shows a secret", arguments: ContentSample.all)
    func contents(sample: ContentSample) throws {
        #expect(tells(sample.content) || sample.testDescription.contains("quoted-printable"))
        let redactor = ExchangeRedactor(.standard)
        let shown = redactor.content(sample.content, headers: sample.headers)
        let text = String(decoding: shown.content.filter { $0 != 0 }, as: UTF8.self)
        #expect(!tells(shown.content), "\(text)")
        #expect(shown.withheld.isEmpty == (sample.fate == .shown), "\(shown.withheld)")
        if sample.fate == .shown {
            #expect(text.contains(ContentSample.kept), "\(text)")
        }
        for one in shown.withheld {
            let digest = try #require(one.firstMatch(of: /SHA-256 ([0-9a-f]{16})/)?.output.1)
            // What was within Base64 is replaced within it.
            let words =
                [text]
                + text.split { !($0.isLetter || $0.isNumber || "+/=".contains($0)) }.compactMap {
                    Data(base64Encoded: String($0)).map { String(decoding: $0, as: UTF8.self) }
                }
            #expect(
                words.contains { $0.contains("(withheld: ") && $0.contains(digest) }, "\(text)")
        }
    }

    @Test(
        "Consecutive delimiters do not end the process",
        arguments: ["--b\r\n--b--\r\n", "--b\n--b--\n", "--b\r\n--b\r\n--b--", "--b\n--b\n--b\n"],
        [true, false])
    func delimiters(text: String, isCut: Bool) {
        for type in ["multipart/mixed; boundary=b", "application/octet-stream"] {
            let shown = ExchangeRedactor(.standard).content(
                Data(text.utf8), headers: ["Content-Type": type], isCut: isCut)
            #expect(shown.content.count <= text.utf8.count || !shown.withheld.isEmpty)
        }
        let error = ClientError(.validation, "no", responseBody: Data(text.utf8))
        #expect("\(error)".contains("no"))
    }

    @Test("Redacting redacted content changes nothing", arguments: ContentSample.all)
    func again(sample: ContentSample) {
        let redactor = ExchangeRedactor(.standard)
        let once = redactor.content(sample.content, headers: sample.headers).content
        let twice = redactor.content(once, headers: sample.headers, isRecorded: true)
        #expect(twice.content == once, "\(String(decoding: twice.content, as: UTF8.self))")
        #expect(twice.withheld.isEmpty)
    }

    @Test(
        "Content that is cut off anywhere keeps nothing of a secret",
        arguments: ContentSample.all)
    func cut(sample: ContentSample) {
        let part = Data(ContentSample.secret.utf8.dropLast(3))
        let redactor = ExchangeRedactor(.standard)
        let step = (sample.content.count < 300 ? 1 : 7) * Runs.size(4, all: 1)
        for count in stride(from: 0, through: sample.content.count, by: step) {
            let shown = redactor.content(
                sample.content.prefix(count), headers: sample.headers, isCut: true)
            #expect(
                !tells(shown.content, part), "\(String(decoding: shown.content, as: UTF8.self))")
        }
    }

    @Test("A log shows no secret of any content, whole or cut off", arguments: ContentSample.all)
    func display(sample: ContentSample) {
        let part = Data(ContentSample.secret.utf8.dropLast(3))
        let type = sample.types.first.flatMap { MediaType(parsing: $0) }
        for count in stride(from: 0, through: sample.content.count, by: Runs.size(11, all: 3)) {
            let shown = Redaction.standard.content(
                sample.content.prefix(count), type: type, isCut: count < sample.content.count)
            #expect(!tells(Data(shown.utf8), part), "\(shown)")
        }
    }

    @Test("A secret of one message is hidden in later ones, in every spelling")
    func repeated() {
        let secret = "pl4nted+s3cret/\"one"
        let encoded = "pl4nted%2Bs3cret%2F%22one"
        let learnt: [(String, Data)] = [
            (
                "multipart/form-data; boundary=b",
                Data(
                    "--b\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n\(secret)\r\n--b--"
                        .utf8)
            ),
            ("application/json", JSONValue.object(["token": .string(secret)]).data()),
            ("application/x-www-form-urlencoded", Data("token=\(encoded)".utf8)),
            ("text/xml", Data("<token><![CDATA[\(secret)]]></token>".utf8)),
            ("application/x-ndjson", Data("1\n{\"token\":\"pl4nted+s3cret\\/\\u0022one\"}".utf8)),
        ]
        let echoes: [(String, Data)] = [
            ("text/plain", Data("you sent \(secret)!".utf8)),
            ("application/json", Data(#"["x pl4nted+s3cret\/\"one y", 1]"#.utf8)),
            ("application/json", Data(#"{"pl4nted+s3cret/\u0022one": 1}"#.utf8)),
            ("text/html", Data("<p>pl4nted+s3cret/&quot;one</p>".utf8)),
            ("text/xml", Data("<a b='pl4nted+s3cret/&#34;one'><!-- \(secret) --></a>".utf8)),
            ("application/x-www-form-urlencoded", Data("a=pl4nted%252Bs3cret%252F%2522one".utf8)),
            ("", Data("\u{0}\u{1}\(secret)".utf8) + [0xFF]),
            (
                "application/octet-stream",
                Data("[\(secret)]".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }) + [0xFF]
            ),
            ("image/png", Data([0x89, 0x50]) + Data(secret.utf8)),
            ("text/plain", Data(Data("ab\(secret)c".utf8).base64EncodedString().utf8)),
            ("text/plain", Data("a \(encoded) b".utf8)),
        ]
        for (type, content) in learnt {
            let redactor = ExchangeRedactor(.standard)
            redactor.learn(["Content-Type": type], content: content)
            for (type, echo) in echoes {
                let headers: HTTPHeaders = type.isEmpty ? [:] : ["Content-Type": type]
                let shown = redactor.content(echo, headers: headers)
                let plain = String(decoding: shown.content.filter { $0 != 0 }, as: UTF8.self)
                #expect(plain.contains("REDACTED") || !shown.withheld.isEmpty, "\(type): \(plain)")
                #expect(!plain.contains("pl4nted"), "\(type): \(plain)")
            }
            let url = redactor.url("https://a.example/x/\(encoded)?q=\(encoded)")
            #expect(url == "https://a.example/x/REDACTED?q=REDACTED")
            #expect(redactor.headers(["X-Echo": secret])["X-Echo"] == "REDACTED")
        }
    }

    @Test("Redacted property lists and JSON can be decoded, and their values keep their kinds")
    func kinds() throws {
        let redactor = ExchangeRedactor(.standard)
        let value: [String: Any] = [
            "token": "planted-secret",
            "secret": [1_234_567, 1.5, Data([1]), Date(), true] as [Any],
            "a": ["x", 7] as [Any],
        ]
        let data = try PropertyListSerialization.data(
            fromPropertyList: value, format: .xml, options: 0)
        let shown = redactor.content(data, headers: ["Content-Type": "application/x-plist"])
        let read = try unsafe PropertyListSerialization.propertyList(
            from: shown.content, format: nil)
        let members = try #require(read as? [String: Any])
        #expect(members["token"] as? String == "REDACTED")
        #expect((members["a"] as? [Any])?.first as? String == "x")
        let secrets = try #require(members["secret"] as? [Any])
        #expect(secrets.count == 5)
        #expect((secrets[0] as? NSNumber)?.intValue == 0)
        #expect((secrets[1] as? NSNumber)?.doubleValue == 0)
        #expect(secrets[2] is Data && secrets[3] is Date)
        #expect((secrets[4] as? NSNumber)?.boolValue == true)
        let json = #"{"token":{"a":["x",12345,12,true,null,""]},"total_tokens":54321,"b":1.50}"#
        let text = redactor.content(Data(json.utf8), headers: ["Content-Type": "application/json"])
        #expect(
            String(decoding: text.content, as: UTF8.self)
                == #"{"token":{"a":["REDACTED",0,0,true,null,""]},"total_tokens":54321,"b":1.50}"#)
    }

    @Test("Added names are hidden in all kinds of content")
    func added() {
        let redactor = ExchangeRedactor(.standard.adding(query: ["Customer"]))
        let samples = [
            ("application/json", #"{"customer":"SECRET"}"#),
            ("text/xml", "<a><n:customer xmlns:n='x'>SECRET</n:customer></a>"),
            ("text/xml", "<a customer='SECRET'/>"),
            ("text/xml", "<a><key>customer</key><x>SECRET</x></a>"),
            ("application/x-www-form-urlencoded", "customer=SECRET"),
            ("text/plain", "customer=SECRET"),
            (
                "multipart/form-data; boundary=b",
                "--b\r\nContent-Disposition: form-data; name=customer\r\n\r\nSECRET\r\n--b--"
            ),
            ("text/html", "<input name=customer value=SECRET>"),
        ]
        for (type, text) in samples {
            let data = Data(ContentSample.text(text).utf8)
            let shown = redactor.content(data, headers: ["Content-Type": type])
            #expect(
                !tells(shown.content), "\(type): \(String(decoding: shown.content, as: UTF8.self))")
        }
    }

    @Test("Content without secrets stays the same byte by byte")
    func untouched() {
        let redactor = ExchangeRedactor(.standard)
        var random = SeededGenerator(seed: 1)
        let noise = Data((0..<10_000).map { _ in UInt8.random(in: 0...255, using: &random) })
        let samples: [(String, Data)] = [
            ("application/json", Data("{ \"a\" : [1.50, 1e3, \"\\u00e9\\/\"] }\n".utf8)),
            (
                "text/xml",
                Data(
                    "<?xml version='1.0'?>\n<!DOCTYPE a SYSTEM 'x'><a b='1 &amp; 2'><![CDATA[x]]>&#65;&nbsp;</a>\n"
                        .utf8)
            ),
            ("image/png", noise),
            ("application/octet-stream", noise),
            (
                "multipart/mixed; boundary=b",
                Data("pre\r\n--b\r\n\r\nx\r\n--b  \r\nA: b\r\n\r\n\r\n--b--\r\npost".utf8)
            ),
            ("text/event-stream", Data("\u{FEFF}data: a\ndata\r\ndata:b\r: c\n\nretry: 1".utf8)),
            ("application/x-www-form-urlencoded", Data("a=b+c&&=&d&e=%C3%A9%zz".utf8)),
            ("text/plain; charset=iso-8859-1", Data([0x67, 0x72, 0xFC, 0xDF, 0x65])),
        ]
        for (type, data) in samples {
            let shown = redactor.content(data, headers: ["Content-Type": type])
            #expect(
                shown.content == data, "\(type): \(String(decoding: shown.content, as: UTF8.self))")
            #expect(shown.withheld.isEmpty, "\(type)")
        }
    }
}
