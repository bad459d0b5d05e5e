// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore
@testable import TurnpikeSerializers
@testable import TurnpikeTesting

/// Text in many encodings, forms, recordings.
@Suite("The cost of other content")
struct TextCosts {
    private static let charsets = [
        "utf-8", "iso-8859-1", "windows-1252", "utf-16", "utf-16le", "utf-32", "shift_jis",
        "euc-jp", "iso-2022-jp", "gbk", "gb18030", "big5", "euc-kr", "koi8-r", "windows-1258",
        "macintosh",
    ]

    private static var rows: [Hostile] {
        let form = Hostile("form, redacted") {
            Hostile.text("a=%7B%22&", $0)
        } read: {
            _ = Redaction.standard.content(Data($0.utf8), type: .form)
        }
        let recording = Hostile("recording") { size in
            let request = #""request":{"method":"GET","url":"http://a.example/"}"#
            let entry = #"{\#(request),"response":{"status":200}},"#
            let file = FileManager.default.temporaryDirectory
                .appending(path: "turnpike-cost-\(UUID()).har")
            try Hostile.data(#"{"log":{"entries":["#, entry, "7]}}", size).write(to: file)
            return file
        } read: { file in
            defer { try? FileManager.default.removeItem(at: file) }
            _ = try CassetteTransport(file: file)
        }
        return charsets.map { text(in: $0) } + [form, recording] + redacted
    }

    /// Text in which a careless search for secrets looks at all of it again from each place.
    private static var redacted: [Hostile] {
        let units = [
            "x", "%25", "&amp;", "\\u005c", "a=b&", "//a:b@", "//a:b", "token: a\n", "eyJ.",
            "\u{0}a",
            "planted-", "a1b2c3\n", "{\"token\":", "<token>", "Bearer 1 ", "k ", "-",
        ]
        return units.map { unit in
            Hostile("text with “\(unit)”, redacted") {
                Hostile.data(unit, $0)
            } read: { data in
                let redactor = ExchangeRedactor(.standard)
                redactor.learn(["X-Token": "planted-s3cret", "X-Auth": "a1b2c3"], content: nil)
                _ = redactor.content(data, headers: ["Content-Type": "text/plain"])
            }
        }
    }

    private static func text(in charset: String) -> Hostile {
        let headers: HTTPHeaders = ["Content-Type": "text/plain; charset=\(charset)"]
        let head = ResponseHead(status: 200, headers: headers, url: URL(filePath: "/"))
        return Hostile("text in \(charset)", size: 200_000) {
            Hostile.data("aé1", $0)
        } read: {
            _ = try StringSerializer().serialize($0, of: head)
        }
    }

    @Test("grows with its size, and not with the square", arguments: rows)
    func growth(row: Hostile) async throws { try await row.check() }
}
