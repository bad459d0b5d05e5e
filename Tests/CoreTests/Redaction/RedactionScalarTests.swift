// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore

@Suite("Redaction beside marks and joiners")
struct RedactionScalarTests {
    private static let behind = ["\u{301}", "\u{200D}"]

    // Byte by byte, or a mark behind it would hide it from the test.
    private static func tells(_ text: String) -> Bool {
        Data(text.utf8).range(of: Data("cret".utf8)) != nil
    }

    @Test("A combining mark after a delimiter of a URL does not hide it", arguments: behind)
    func urls(mark: String) {
        for url in [
            "http://a/?\(mark)token=s3cret", "http://a/?token=\(mark)s3cret",
            "http://a/?x=1&\(mark)token=s3cret", "http://a/?x=1;\(mark)token=s3cret",
            "http://u:s3cret@\(mark)a/x", "http://a/x;\(mark)jsessionid=s3cret",
            "http://a/reset-token/\(mark)s3cret1", "http://a/#\(mark)access_token=s3cret",
            "http://a/?next=http%3A%2F%2Fu%3As3cret%40\(mark)b", "http://a/\u{600}?token=s3cret",
            "http://u:s3cret\u{600}@a/x", "http://a/?x=\u{600}&code=s3cret",
        ] {
            let shown = Redaction.standard.url(url)
            #expect(!Self.tells(shown), "\(shown.debugDescription)")
        }
    }

    @Test("A combining mark after a delimiter of text does not hide it", arguments: behind)
    func texts(mark: String) {
        let token = "ghp_0123456789abcdefcret"
        for text in [
            "password=\(mark)s3cret", "password\u{600}=s3cret", "api_key=\"\(mark)s3cret\"",
            "see http://a/x?\(mark)token=s3cret", "see ://\(mark)u:s3cret@a", "(\(token)\(mark))",
            "token\(mark)=s3cret",
        ] {
            let shown = Redaction.standard.text(text)
            #expect(!Self.tells(shown), "\(shown.debugDescription)")
        }
    }

    @Test("A combining mark after a delimiter of content does not hide it", arguments: behind)
    func contents(mark: String) {
        for (text, type) in [
            ("password=\(mark)s3cret", MediaType.form), ("a=1&\(mark)password=s3cret", .form),
            ("<password>\(mark)s3cret</password>", MediaType("text", "html")),
            ("<a password=\"\(mark)s3cret\"/>", MediaType("text", "html")),
            ("{\"a\":\"password=\(mark)s3cret\"}", .json),
        ] {
            let shown = Redaction.standard.content(Data(text.utf8), type: type)
            #expect(!Self.tells(shown), "\(shown.debugDescription)")
        }
    }

    @Test("Marks where there are no secrets stay as they are")
    func kept() {
        for text in [
            "http://a/e\u{301}?q=e\u{301}&x=\u{301}#\u{301}", "e\u{301} a=\u{301}b, \u{301}",
            "\u{1F468}\u{200D}\u{1F469} = \u{E9}",
        ] {
            #expect(Redaction.standard.url(text).utf8.elementsEqual(text.utf8))
            #expect(Redaction.standard.text(text).utf8.elementsEqual(text.utf8))
            for (text, type) in [
                (text, MediaType.form), (text, .plainText),
                ("<a>\(text)</a>", MediaType("text", "html")),
            ] {
                let shown = Redaction.standard.content(Data(text.utf8), type: type)
                #expect(shown.utf8.elementsEqual(text.utf8))
            }
        }
    }
}
