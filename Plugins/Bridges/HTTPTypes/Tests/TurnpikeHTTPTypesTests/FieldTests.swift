// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Testing
import Turnpike
import TurnpikeHTTPTypes

@Suite("Fields")
struct FieldTests {
    private func name(_ text: String) throws -> HTTPField.Name {
        try #require(HTTPField.Name(text))
    }

    @Test("Keep their order, their lines and the spelling of their names")
    func order() throws {
        var fields = HTTPFields()
        for (key, value) in [
            ("Set-Cookie", "a=1"), ("x-Trace", "ü"), ("SET-cookie", "b=2"), ("Cookie", "c=3"),
            ("cookie", "d=4"), ("X-Empty", ""),
        ] { fields.append(HTTPField(name: try name(key), value: value)) }
        let headers = try HTTPHeaders(fields)
        #expect(headers.map(\.name.rawValue) == fields.map(\.name.rawName))
        #expect(headers.map(\.value) == fields.map(\.value))
        let back = try HTTPFields(headers)
        #expect(back.map(\.name.rawName) == fields.map(\.name.rawName))
        #expect(Array(back) == Array(fields))
    }

    @Test("Are refused if a value is not UTF-8")
    func latin1() throws {
        let field = HTTPField(name: try name("X-Name"), value: [0x53, 0xE9, 0x45])
        let error = try #require(throws: ClientError.self) { try HTTPHeaders(HTTPFields([field])) }
        #expect(error.code == .invalidRequest)
        #expect(error.message.contains("X-Name"))
        // U+FFFD itself may be sent.
        let mark = HTTPField(name: try name("X-Name"), value: "a\u{FFFD}")
        #expect(try HTTPHeaders(HTTPFields([mark]))["X-Name"] == "a\u{FFFD}")
        var avoided = mark
        avoided.indexingStrategy = .disallow
        #expect(try HTTPHeaders(HTTPFields([avoided]))["X-Name"] == "a\u{FFFD}")
    }

    @Test("Keep a control character that was received, which no request may send")
    func control() throws {
        var headers = HTTPHeaders()
        headers.appendReceived("X-Bell", "a\u{7}b")
        let fields = try HTTPFields(headers)
        #expect(fields[try name("X-Bell")] == "a\u{7}b")
        let again = try HTTPHeaders(fields)
        #expect(again["X-Bell"] == "a\u{7}b")
        #expect(Request(.get, "https://example.com/", headers: again).fault != nil)
    }

    @Test("Are refused with a defect, which is a field that is not there")
    func defect() throws {
        for (key, value) in [("X A", "1"), ("X-A", "SECRET\r\nX-B: 2"), ("", "1")] {
            var headers: HTTPHeaders = ["X-Before": "1"]
            headers.appendReceived(HTTPHeaders.Name(key), value)
            let error = try #require(throws: ClientError.self) { try HTTPFields(headers) }
            #expect(error.code == .protocol)
            #expect(!"\(error)".contains("SECRET"))
        }
    }

    @Test("Are refused if there are more than HTTPFields holds")
    func many() throws {
        var headers = HTTPHeaders()
        for _ in 0..<65_534 { headers.append("X", "1") }
        #expect(try HTTPFields(headers).count == 65_534)
        headers.append("X", "1")
        let error = try #require(throws: ClientError.self) { try HTTPFields(headers) }
        #expect(error.message.contains("65535"))
    }

    @Test(
        "A status of three digits is kept, any other refused",
        arguments: [
            Int.min, -1, 0, 99, 100, 200, 299, 418, 599, 600, 999, 1000, Int.max,
        ])
    func status(_ code: Int) throws {
        let url = try #require(URL(string: "https://example.com/"))
        let head = ResponseHead(status: HTTPStatus(code), headers: ["X-A": "1"], url: url)
        guard (0...999).contains(code) else {
            let error = try #require(throws: ClientError.self) { try HTTPResponse(head) }
            #expect(error.code == .protocol)
            return
        }
        let response = try HTTPResponse(head)
        #expect(response.status.code == code)
        #expect(response.status.reasonPhrase == head.status.reasonPhrase)
        let back = try Response(response, to: Request(.get, url))
        #expect(back.status == head.status)
        #expect(back.headers == head.headers)
    }
}
