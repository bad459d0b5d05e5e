// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore
@testable import TurnpikeDownloads

@Suite("Suggested file names")
struct FileNameTests {
    private func name(_ disposition: String?, _ path: String = "/files/report%20.txt") -> String {
        ResponseHead(
            status: 200, headers: disposition.map { ["Content-Disposition": $0] } ?? [:],
            url: URL(string: "http://a.example" + path) ?? URL(filePath: "/")
        ).suggestedFilename
    }

    @Test(
        "A name is parsed by RFC 6266 and RFC 8187, and made a harmless component",
        arguments: [
            ("attachment; filename=\"report.txt\"", "report.txt"),
            ("ATTACHMENT; FILENAME=\"x.txt\"", "x.txt"),
            ("attachment; filename=my report.txt", "my report.txt"),
            ("attachment; filename=\"a;b.txt\"", "a;b.txt"),
            ("attachment; filename=\"abc", "abc"),
            ("attachment; filename=\"plain.txt\"; filename*=UTF-8''caf%C3%A9.txt", "café.txt"),
            ("attachment; filename*=iso-8859-1'en'caf%E9.txt", "café.txt"),
            ("attachment; filename*=UTF-8''%ff%zz; filename=b.txt", "b.txt"),
            ("attachment; filename*=klingon''x; filename=b.txt", "b.txt"),
            ("attachment; filename=\"a.txt\"; filename=\"b.exe\"", "a.txt"),
            ("attachment; filename=\"../../etc/cron.d/evil\"", "evil"),
            ("attachment; filename*=UTF-8''..%2F..%2Fevil", "evil"),
            ("attachment; filename=\"..%2f..%2fevil\"", "%2f..%2fevil"),
            ("attachment; filename=\"/etc/passwd\"", "passwd"),
            ("attachment; filename=\"..\\\\..\\\\evil.exe\"", "evil.exe"),
            ("attachment; filename=\"C:\\\\evil.exe\"", "evil.exe"),
            ("attachment; filename=\".bashrc\"", "bashrc"),
            ("attachment; filename=\"  .hidden  \"", "hidden"),
            ("attachment; filename*=UTF-8''a%0d%0ab", "ab"),
            ("attachment; filename*=UTF-8''a%00.txt", "a.txt"),
            ("attachment; filename=\"txt.\u{202E}exe\"", "txt.exe"),
            ("attachment; filename=\"CON.txt\"", "_CON.txt"),
            ("attachment; filename=\"com7\"", "_com7"),
            ("attachment; filename=\"-rf\"", "_-rf"),
            ("attachment; filename=\"~/.ssh/authorized_keys\"", "authorized_keys"),
            // A scalar that joins the one before it does not hide a separator, a dot or a hyphen.
            ("attachment; filename*=UTF-8''%2F%E2%80%8D..%2F%E2%80%8D..%2F%E2%80%8Devil", "evil"),
            ("attachment; filename=\"/\u{200D}../\u{200D}../\u{200D}evil\"", "evil"),
            ("attachment; filename=\"a\\\\\u{200C}..\\\\\u{200C}evil\"", "evil"),
            ("attachment; filename=\"a/\u{301}b\"", "\u{301}b"),
            ("attachment; filename=\".\u{301}bashrc\"", "\u{301}bashrc"),
            ("attachment; filename=\"-\u{301}rf\"", "_-\u{301}rf"),
        ])
    func read(disposition: String, expected: String) { #expect(name(disposition) == expected) }

    @Test(
        "If no name is left, the URL's is used, then a default",
        arguments: [
            (".", "report"), ("..", "report"), ("", "report"), ("dir/", "report"),
            ("\u{1}\u{7F}", "report"),
        ])
    func fallback(told: String, expected: String) {
        #expect(name("attachment; filename=\"\(told)\"", "/x/report").hasPrefix(expected))
        #expect(name(nil) == "report .txt")
        #expect(name(nil, "/") == "download")
        #expect(name(nil, "/a/..%2F..%2Fb") == "b")
        #expect(name(nil, "/a/%2F%E2%80%8D..%2F%E2%80%8Db") == "b")
    }

    @Test("A name has at most 255 bytes, with its extension and whole characters")
    func length() {
        let long = name("attachment; filename=\"\(String(repeating: "n", count: 5000)).txt\"")
        #expect(long.utf8.count == 255 && long.hasSuffix("n.txt"))
        let wide = name("attachment; filename=\"\(String(repeating: "é", count: 500)).txt\"")
        #expect(wide.utf8.count <= 255 && wide.hasSuffix("é.txt"))
        let noExtension = name("attachment; filename=\"a.\(String(repeating: "x", count: 500))\"")
        #expect(noExtension.utf8.count == 255)
        // One character that is too long leaves nothing, which would be the directory, or hidden.
        let stacked = "a" + String(repeating: "\u{301}", count: 500)
        #expect(name("attachment; filename=\"\(stacked)\"", "/b") == "b")
        #expect(name("attachment; filename=\"\(stacked).txt\"", "/b") == "b")
    }

    @Test("A name is found in time linear in the field")
    func hostile() {
        #expect(name("attachment; " + String(repeating: ";", count: 100_000), "/b") == "b")
    }
}
