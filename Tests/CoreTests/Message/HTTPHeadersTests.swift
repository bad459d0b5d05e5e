// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TurnpikeCore

@Suite("HTTPHeaders")
struct HTTPHeadersTests {
    @Test("Names are compared without case and sent as they were spelled")
    func names() {
        var headers: HTTPHeaders = ["content-TYPE": "a/b"]
        #expect(headers[.contentType] == "a/b")
        #expect(headers[0].name.rawValue == "content-TYPE")
        headers["Content-Type"] = "c/d"
        #expect(headers.count == 1)
        #expect(headers[.contentType] == "c/d")
        headers[.contentType] = nil
        #expect(headers.isEmpty)
    }

    @Test(
        "Setting a name again, in whatever case, replaces its field in place",
        arguments: [["key", "Key", "KEY"], ["c", "C"]] as [[HTTPHeaders.Name]])
    func setAgain(names: [HTTPHeaders.Name]) {
        var headers: HTTPHeaders = ["a": "1"]
        for name in names { headers[name] = name.rawValue }
        headers["z"] = "2"
        #expect(headers.count == 3 && headers[1].value == names.last?.rawValue)
        #expect(headers[1].name.rawValue == names.last?.rawValue)
    }

    @Test("Several lines of a name keep their order and are joined for a reader")
    func lines() {
        var headers = HTTPHeaders([("A", "1"), ("B", "x"), ("a", "2")])
        #expect(headers["A"] == "1, 2")
        #expect(headers.values(of: "A") == ["1", "2"])
        #expect(headers.first("a") == "1")
        headers["A"] = "3"
        #expect(headers.map(\.value) == ["3", "x"])
    }

    @Test("Blanks around a value do not count; HTAB and UTF-8 inside it do")
    func blanks() {
        let headers: HTTPHeaders = ["X": " \t café\tx \t"]
        #expect(headers["X"] == "café\tx")
        #expect(headers.defect == nil)
    }

    @Test(
        "A bad name or value is never stored, and remembered without the value",
        arguments: [
            ("X-A", "s3cret\r\nX-Injected: 1"), ("X-A", "s3cret\n"), ("X-A", "s3cret\rb"),
            ("X-A", "s3cret\0"), ("X-A", "s3cret\u{7F}"), ("X A", "s3cret"), ("", "s3cret"),
            ("X:A", "s3cret"), ("X\r\nY", "s3cret"), ("é", "s3cret"),
        ])
    func defects(name: String, value: String) throws {
        var set: HTTPHeaders = ["Keep": "1"]
        set[HTTPHeaders.Name(name)] = value
        var appended: HTTPHeaders = ["Keep": "1"]
        appended.append(HTTPHeaders.Name(name), value)
        for headers in [set, appended] {
            #expect(headers.count == 1)
            let defect = try #require(headers.defect)
            #expect(!defect.contains("s3cret"))
            #expect(!defect.contains { $0.isNewline })
        }
    }

    @Test("Secrets are not printed, not even by a dump")
    func redaction() {
        let headers: HTTPHeaders = [
            "Authorization": "Bearer s3cret", "Cookie": "a=s3cret", "X-Api-Key": "s3cret",
            "X-Auth-Token": "s3cret",
            "Location": "http://u:s3cret@h/?access_token=s3cret#id_token=s3cret",
            "Accept": "text/plain",
        ]
        var dumped = ""
        dump(headers, to: &dumped)
        for text in ["\(headers)", String(reflecting: headers), dumped, "\(headers.map(\.self))"] {
            #expect(!text.contains("s3cret"), "\(text)")
            #expect(text.contains("text/plain"))
        }
    }

    @Test("Equal fields make equal sections, the case of names aside")
    func equality() {
        let left: HTTPHeaders = ["A": "1", "b": "2"]
        #expect(left == ["a": "1", "B": "2"])
        #expect(left.hashValue == (["a": "1", "B": "2"] as HTTPHeaders).hashValue)
        #expect(left != ["b": "2", "A": "1"])
        #expect(left != ["A": "1", "b": "3"])
    }

    @Test("Values are compared byte by byte, not by their looks")
    func canonicalEquivalence() {
        let composed: HTTPHeaders = ["X-User": "Jos\u{E9}"]
        let decomposed: HTTPHeaders = ["X-User": "Jose\u{301}"]
        #expect(composed != decomposed)
        #expect(composed == ["x-user": "Jos\u{E9}"])
        #expect(Set([composed, decomposed, ["x-user": "Jos\u{E9}"]]).count == 2)
    }
}
