// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// Content of a type that holds a text as a value, as data, or between others.
struct SecretCarrier: Sendable {
    let type: String
    let content: @Sendable (String) -> Data

    init(_ type: String, _ content: @escaping @Sendable (String) -> String) {
        self.type = type
        self.content = { Data(content($0).utf8) }
    }

    init(_ type: String, bytes content: @escaping @Sendable (String) -> Data) {
        self.type = type
        self.content = content
    }

    private static func json(_ text: String) -> String { "\(JSONValue.string(text))" }

    private static func xml(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(
            "\"", with: "&quot;")
    }

    private static func form(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    static let all: [SecretCarrier] = [
        SecretCarrier("text/plain") { "see\n\($0)\nthere" },
        SecretCarrier("text/html; charset=utf-8") {
            "<p>see <b>\($0.replacing("\"", with: "&quot;"))</b></p>"
        },
        SecretCarrier("application/json") { "{\"a\":[1,\(json($0))],\"b\":2}" },
        SecretCarrier("application/problem+json") { "{\"detail\":\(json(json($0)))}" },
        SecretCarrier("application/json") { text in "{\"a\":\(json(text)), }" },
        SecretCarrier(
            "application/json",
            bytes: { text in
                Data("{\"a\":\(json(text))}".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] })
            }),
        SecretCarrier("application/x-ndjson") { "{}\n\(json($0))\n" },
        SecretCarrier("text/event-stream") { "data: \($0)\n\ndata: [\(json($0))]\n\n: \($0)\n" },
        SecretCarrier("application/xml") {
            "<a b=\"\(xml($0))\"><c>\(xml($0))</c><!--\(xml($0).replacing("--", with: "&#45;&#45;"))--></a>"
        },
        SecretCarrier("application/x-www-form-urlencoded") { "a=1&b=\(form($0))&c=2" },
        SecretCarrier("application/x-plist") { text in
            "<plist version=\"1.0\"><dict><key>a</key><string>\(xml(text))</string></dict></plist>"
        },
        SecretCarrier(
            "application/x-plist",
            bytes: { text in
                (try? PropertyListSerialization.data(
                    fromPropertyList: ["a": [text]], format: .binary, options: 0)) ?? Data()
            }),
        SecretCarrier("multipart/form-data; boundary=b") { text in
            "--b\r\nContent-Disposition: form-data; name=\"a\"\r\nX-Note: \(text)\r\n\r\n\(text)\r\n--b--\r\n"
        },
        SecretCarrier("multipart/form-data; boundary=b") {
            "--b\nContent-Disposition: form-data; name=a\n\n\($0)"
        },
        SecretCarrier("application/http") { "GET / HTTP/1.1\r\nX-Note: \($0)\r\n\r\n" },
        SecretCarrier("") { $0 },
    ]
}
