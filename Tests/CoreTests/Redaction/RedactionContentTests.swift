// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore

@Suite("Redaction of contents")
struct RedactionContentTests {
    private func shown(_ text: String, _ type: MediaType?) -> String {
        Redaction.standard.content(Data(text.utf8), type: type)
    }

    @Test(
        "In JSON the values of secret members are hidden, whatever they are",
        arguments: [
            (#"{"a":1,"password":"x"}"#, #"{"a":1,"password":"REDACTED"}"#),
            (#"{"access_token" : "x", "b": 2}"#, #"{"access_token" : "REDACTED", "b": 2}"#),
            (#"{"secret":["x",{"y":"z"}],"b":2}"#, #"{"secret":"REDACTED","b":2}"#),
            (#"{"secret":{"a":"}","b":"]"},"c":3}"#, #"{"secret":"REDACTED","c":3}"#),
            (#"{"token":12345,"b":2}"#, #"{"token":"REDACTED","b":2}"#),
            (
                #"[{"api_key":"x"},{"api_key":"y"}]"#,
                #"[{"api_key":"REDACTED"},{"api_key":"REDACTED"}]"#
            ),
            (#"{"pass\u0077ord":"x"}"#, #"{"pass\u0077ord":"REDACTED"}"#),
            (#"{"PassWord":"a\"b","c":"d"}"#, #"{"PassWord":"REDACTED","c":"d"}"#),
            (#"{"name":"password","value":"x"}"#, #"{"name":"password","value":"REDACTED"}"#),
            (#"{"value":["x"],"key":"pwd"}"#, #"{"value":"REDACTED","key":"pwd"}"#),
            (#"{"name":"city","value":"kept"}"#, #"{"name":"city","value":"kept"}"#),
            (
                #"{"prompt_tokens":12345,"token_type":"kept"}"#,
                #"{"prompt_tokens":12345,"token_type":"kept"}"#
            ),
        ])
    func json(text: String, expected: String) { #expect(shown(text, .json) == expected) }

    @Test("JSON that is cut off or broken anywhere shows nothing of a secret")
    func brokenJSON() {
        let text = #"{"a":[1,{"password":"hunter2 and more","deep":{"token":["hunter2"]}}],"b":1}"#
        for count in 0...text.utf8.count {
            let cut = String(decoding: text.utf8.prefix(count), as: UTF8.self)
            #expect(!shown(cut, .json).contains("hun"), "\(cut)")
        }
        for text in [#"{"password":hunter2"#, #"{"password"  :  "hunter2"#, #""token":"hunter2"]"#]
        {
            #expect(!shown(text, .json).contains("hunter2"), "\(text)")
        }
    }

    @Test(
        "JSON is recognised by all its media types",
        arguments: ["application/problem+json", "application/x-ndjson"])
    func jsonTypes(type: String) {
        #expect(!shown("{\"token\":\"hunter2\"}", MediaType(parsing: type)).contains("hunter2"))
    }

    @Test(
        "In forms the values of secret fields are hidden",
        arguments: [
            ("a=1&password=x&b=2", "a=1&password=REDACTED&b=2"),
            ("client%5Fsecret=x", "client%5Fsecret=REDACTED"), ("token=a=b&", "token=REDACTED&"),
            ("password", "password"), ("&&=", "&&="),
        ])
    func form(text: String, expected: String) { #expect(shown(text, .form) == expected) }

    @Test("URLs in strings lose their user information and their secret query items")
    func urls() {
        let text = "see http://user:hunter2@a.example/?token=hunter3&b=1 there"
        for type in [MediaType.plainText, .json] {
            let shown = shown(type == .json ? "{\"a\":\"\(text)\"}" : text, type)
            #expect(!shown.contains("hunter"))
            #expect(shown.contains("b=1"))
        }
    }

    @Test(
        "Content of another type is shown by its size and its type",
        arguments: [
            "application/xml", "image/svg+xml", "text/csv", "text/tab-separated-values",
            "text/event-stream", "text/yaml", "application/x-plist", "application/http",
            "multipart/form-data", "application/octet-stream", "image/png",
        ])
    func otherTypes(type: String) {
        #expect(shown("token=abc", MediaType(parsing: type)) == "(9 bytes of \(type))")
        #expect(
            shown("token=abc", MediaType(parsing: type + "; charset=utf-8; boundary=b"))
                == "(9 bytes of \(type))")
    }

    @Test("Text in a charset whose bytes are not those of ASCII is shown by its size and its type")
    func charsets() {
        for charset in ["utf-16", "utf-32le", "utf-7", "shift_jis", "ibm037"] {
            let type = MediaType(parsing: "text/plain; charset=\(charset)")
            #expect(shown("password=hunter2", type) == "(16 bytes of text/plain)", "\(charset)")
        }
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf32BigEndian] {
            for (text, type) in [
                ("password=hunter2", MediaType.plainText), ("{\"password\":\"hunter2\"}", .json),
            ] {
                let data = text.data(using: encoding) ?? Data()
                let shown = Redaction.standard.content(data, type: type)
                #expect(shown == "(\(data.count) bytes of \(type.essence))")
            }
        }
        #expect(shown("é password=hunter2", "text/plain; charset=UTF-8") == "é password=REDACTED")
    }

    @Test("XML in JSON is withheld if it mentions a secret, and a binary property list always")
    func nested() {
        let xml = shown(#"{"a":"<?xml version='1.0'?><token>hunter2</token>","b":1}"#, .json)
        #expect(
            xml.hasPrefix(#"{"a":"(withheld: XML of "#) && xml.hasSuffix(#"","b":1}"#), "\(xml)")
        let plain = #"{"a":"<?xml version='1.0'?><b>kept</b>"}"#
        #expect(shown(plain, .json) == plain)
        let list = Data("bplist00 h\u{0}u\u{0}n\u{0}t\u{0}e\u{0}r\u{0}2".utf8).base64EncodedString()
        #expect(!shown(#"{"a":"\#(list)"}"#, .json).contains(list))
    }

    @Test(
        "A secret that a part of a form or a column of a table names is hidden elsewhere",
        arguments: [
            (
                "multipart/form-data; boundary=b",
                "--b\r\nContent-Disposition: form-data; name=\"city\"\r\n\r\nBerlin\r\n--b\r\n"
                    + "content-disposition: form-data; name=\"password\"\r\n\r\npl4nted-s3cret\r\n--b--"
            ),
            (
                "multipart/form-data; boundary=\"a b\"",
                "before\n--a b\nContent-Disposition: form-data; name=a\n"
                    + "Content-Type: application/json\n\n{\"token\":\"pl4nted-s3cret\",\"b\":\"Berlin\"}\n--a b--\n"
            ),
            ("text/csv", "city,password\r\nBerlin,pl4nted-s3cret\r\n"),
            ("text/csv", "city;\"api key\"\n\"in; Berlin\";\"pl4nted-s3cret\"\n"),
            ("text/tab-separated-values", "token\tcity\npl4nted-s3cret\tBerlin"),
        ])
    func learnt(type: String, text: String) {
        #expect(shownElsewhere(Data(text.utf8), type) == "REDACTED came from Berlin")
    }

    @Test("A secret in JSON in UTF-16 is hidden elsewhere", arguments: [false, true])
    func learntWide(isLittle: Bool) throws {
        let text = #"{"password":"pl4nted-s3cret","city":"Berlin, Zürich"}"#
        let encoding = isLittle ? String.Encoding.utf16LittleEndian : .utf16BigEndian
        let data = try #require(text.data(using: encoding))
        let mark = Data(isLittle ? [0xFF, 0xFE] : [0xFE, 0xFF])
        for content in [data, mark + data] {
            #expect(
                shownElsewhere(content, "application/json") == "REDACTED came from Berlin")
        }
    }

    // What an error says after a request with some content.
    private func shownElsewhere(_ content: Data, _ type: String) -> String {
        let request = Request(
            .post, "https://a.example/", headers: ["Content-Type": type], body: .data(content))
        return Redaction.standard.hiding(secretsOf: [request], [])
            .text("pl4nted-s3cret came from Berlin")
    }

    @Test("Control characters are escaped")
    func other() {
        #expect(shown("abc", nil) == "(3 bytes)")
        #expect(shown("", .octetStream) == "")
        let escaped = shown("a\u{1B}[31m\r\nb\u{0}", .plainText)
        #expect(escaped.utf8.allSatisfy { $0 >= 0x20 })
        #expect(Redaction.standard.content(Data([0xFF, 0x61]), type: .plainText).contains("a"))
    }

    @Test(
        "A key is secret by the end of its name, whatever its prefix",
        arguments: [
            "Ocp-Apim-Subscription-Key", "x-functions-key", "DD-APPLICATION-KEY", "X-Master-Key",
            "x-amz-server-side-encryption-customer-key", "AccountKey", "X-Signing-Key",
        ])
    func keys(name: String) {
        let headers: HTTPHeaders = [HTTPHeaders.Name(name): "hunter2", "X-Idempotency-Key": "seen"]
        #expect(!headers.description.contains("hunter2") && headers.description.contains("seen"))
        #expect(!Redaction.standard.url("http://a/?\(name)=hunter2").contains("hunter2"))
    }

    @Test("More names can be hidden, and none fewer")
    func more() {
        let redaction = Redaction.standard.adding(headers: [], query: ["Customer"])
        let text = "{\"customer\":\"x\",\"token\":\"y\"}"
        #expect(
            redaction.content(Data(text.utf8), type: .json)
                == "{\"customer\":\"REDACTED\",\"token\":\"REDACTED\"}")
    }

    @Test("Large content takes time in proportion to its size")
    func large() {
        let text = String(repeating: "{\"a\":[", count: 20_000) + "\"password\":\"hunter2"
        #expect(!shown(text, .json).contains("hunter2"))
    }
}
