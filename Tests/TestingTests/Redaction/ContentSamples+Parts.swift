// SPDX-License-Identifier: Apache-2.0

import Foundation

extension ContentSample {
    private static func list(_ format: PropertyListSerialization.PropertyListFormat) -> Data {
        let value: [String: Any] = [
            "a": kept, "password": secret, "ü": "https://bob:\(secret)@h/",
            "secret": [
                "x": [secret, 12_345_678, Data(secret.utf8), Date(timeIntervalSince1970: 1)]
            ],
            "token": "ü\(secret)", "list": [["name": "api-key", "value": secret]],
            "json": "{\"token\":\"\(secret)\"}", "data": Data("{\"token\":\"\(secret)\"}".utf8),
        ]
        return
            (try? PropertyListSerialization.data(
                fromPropertyList: value, format: format, options: 0))
            ?? Data()
    }

    static let propertyLists: [ContentSample] = [
        ContentSample("a property list in XML", "application/x-plist", list(.xml)),
        ContentSample("a property list as XML", "text/xml", list(.xml)),
        ContentSample("a binary property list", "application/x-plist", list(.binary), .withheld),
        ContentSample(
            "a binary property list of Apple's type", "application/x-apple-binary-plist",
            list(.binary), .withheld),
        ContentSample("a binary property list without a type", "", list(.binary), .withheld),
        ContentSample(
            "a binary property list as bytes", "application/octet-stream", list(.binary), .withheld),
        ContentSample("a binary property list as an image", "image/png", list(.binary), .withheld),
        ContentSample(
            "a binary property list in JSON", "application/json",
            "{\"a\":\"KEPT\",\"b\":\"\(list(.binary).base64EncodedString())\"}", .withheld),
        ContentSample(
            "a property list of the old form", "application/x-plist", "{ password = SECRET; }",
            .withheld),
    ]

    private static func form(_ parts: String, _ end: String = "--b--\r\n") -> String {
        parts.replacing("\n", with: "\r\n") + end
    }

    static let multipart: [ContentSample] = {
        let type = "multipart/form-data; boundary=b"
        let plain = "--b\nContent-Disposition: form-data; name=\"a\"\n\nKEPT\n"
        func part(_ head: String, _ content: String = "SECRET") -> String {
            form(plain + "--b\n\(head)\n\n\(content)\n")
        }
        func field(_ name: String) -> String { part("Content-Disposition: form-data; \(name)") }
        return [
            ContentSample("a part", type, field("name=\"password\"")),
            ContentSample(
                "a boundary in quotes", "multipart/form-data; boundary=\"b\"",
                field("name=\"password\"")),
            ContentSample("parts without a type", "", field("name=\"password\"")),
            ContentSample(
                "parts with lines of LF", type,
                "\(plain)--b\nContent-Disposition: form-data; name=\"token\"\n\nSECRET\n--b--\n"),
            ContentSample(
                "parts with lines of both", type,
                "--b\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nx\n--b\nSECRET\r\n--b--\r\n",
                .withheld),
            ContentSample(
                "parts that are cut off", type,
                form(plain + "--b\nContent-Disposition: form-data; name=\"token\"\n\nSECRET", ""),
                .withheld),
            ContentSample(
                "parts without a boundary", "multipart/form-data", field("name=\"password\""),
                .withheld),
            ContentSample(
                "parts of another boundary", "multipart/form-data; boundary=c",
                field("name=\"password\""), .withheld),
            ContentSample("a name without quotes", type, field("name=password")),
            ContentSample("a name in UTF-8", type, field("name*=UTF-8''pass%77ord")),
            ContentSample("a name in pieces", type, field("name*0*=UTF-8''pass%77ord")),
            ContentSample("two names", type, field("name=\"a\"; name=\"password\"")),
            ContentSample("a name with escapes", type, field("name=\"pass\\word\"")),
            ContentSample("an encoded word", type, field("name=\"=?utf-8?B?cGFzc3dvcmQ=?=\"")),
            ContentSample("a folded field", type, field("\n name=\"password\"")),
            ContentSample(
                "a field in capitals", type,
                part("CONTENT-DISPOSITION: form-data; NAME=\"password\"")),
            ContentSample(
                "header fields of a part", type,
                part(
                    "X-Api-Key: SECRET\nCookie: sid=SECRET\nReferer: https://bob:SECRET@h/", "KEPT")
            ),
            ContentSample(
                "a file name", type,
                part(
                    "Content-Disposition: form-data; name=\"f\"; filename=\"https://bob:SECRET@h\"",
                    "KEPT")),
            ContentSample(
                "JSON in a part", type,
                part("Content-Type: application/json", #"{"token":"SECRET"}"#)),
            ContentSample(
                "broken JSON in a part", type,
                part("Content-Type: application/json", #"{"token":"SECRET"#), .withheld),
            ContentSample(
                "a property list in a part", type,
                part(
                    "Content-Type: application/x-plist",
                    "<plist><dict><key>token</key><string>SECRET</string></dict></plist>")),
            ContentSample(
                "base64 in a part", type,
                part(
                    "Content-Type: application/json\nContent-Transfer-Encoding: base64",
                    Data(text(#"{"token":"SECRET"}"#).utf8).base64EncodedString(
                        options: .lineLength64Characters)), .withheld),
            ContentSample(
                "quoted-printable in a part", type,
                part("Content-Transfer-Encoding: quoted-printable", "password=3DSEC=\nRET")
                    .replacing("SEC=\r\nRET", with: "planted-=\r\nsecret-1"), .withheld),
            ContentSample(
                "another transfer encoding", type,
                part("Content-Transfer-Encoding: x-uuencode", "SECRET"), .withheld),
            ContentSample(
                "coded content in a part", type, part("Content-Encoding: gzip", "SECRET"), .withheld
            ),
            ContentSample(
                "a part with a line that is none", type, part("no field SECRET"), .withheld),
            ContentSample(
                "parts in a part", "multipart/mixed; boundary=b",
                part(
                    "Content-Type: multipart/form-data; boundary=c",
                    "--c\nContent-Disposition: form-data; name=\"token\"\n\nSECRET\n--c--")),
            ContentSample(
                "a boundary that begins like another one", "multipart/mixed; boundary=b",
                part(
                    "Content-Type: multipart/form-data; boundary=bb",
                    "--bb\nContent-Disposition: form-data; name=\"token\"\n\nSECRET\n--bb--")),
            ContentSample(
                "what stands before and behind", type,
                "password=SECRET\r\n" + form(plain) + "token=SECRET"),
            ContentSample(
                "a request in a part", "multipart/mixed; boundary=b",
                part(
                    "Content-Type: application/http",
                    "POST /x?token=SECRET HTTP/1.1\nHost: a\nAuthorization: Bearer SECRET\n\n"),
                .withheld),
        ]
    }()

    static let lines: [ContentSample] = [
        ContentSample(
            "an event stream", "text/event-stream",
            "event: a\ndata: KEPT\n\ndata: {\"token\":\"SECRET\"}\n\n"),
        ContentSample(
            "an odd quote before", "text/event-stream",
            "data: say \"KEPT\n\ndata: {\"token\":\"SECRET\"}\n\n"),
        ContentSample(
            "an event in several lines", "text/event-stream",
            "data: KEPT\n\ndata: {\"token\":\ndata: \"SECRET\"}\n\n"),
        ContentSample(
            "an event in lines of CR", "text/event-stream; charset=utf-8",
            "data: KEPT\r\rdata:{\"token\":\"SECRET\"}\r\r"),
        ContentSample(
            "a broken event", "text/event-stream",
            "data: KEPT\n\ndata: {\"password\" /**/ : SECRET\n\n", .withheld),
        ContentSample(
            "other lines", "text/event-stream",
            "id: https://bob:SECRET@h\n: token=SECRET\ndata: KEPT\n\n"),
        ContentSample(
            "JSON lines", "application/x-ndjson", "{\"a\":\"KEPT\"}\n{\"token\":\"SECRET\"}\n"),
        ContentSample(
            "a broken line", "application/x-ndjson",
            "{\"a\":\"KEPT\"}\n{\"a\": \"odd}\n{\"token\":\"SECRET\"}\n", .withheld),
        ContentSample(
            "a secret in a broken line", "application/jsonl",
            "{\"a\":\"KEPT\"}\n{\"token\": SECRET}\n", .withheld),
        ContentSample(
            "a sequence", "application/json-seq",
            "\u{1E}{\"a\":\"KEPT\"}\n\u{1E}{\"token\":\n\"SECRET\"}\n"),
    ]

    static let others: [ContentSample] = [
        ContentSample(
            "a form", "application/x-www-form-urlencoded", "a=KEPT&password=SECRET&sid=SECRET"),
        ContentSample(
            "a form with escapes", "application/x-www-form-urlencoded; charset=utf-8",
            "a=KEPT&pass%77ord=SECRET&user%5Bpwd%5D=SECRET"),
        ContentSample(
            "JSON in a form", "application/x-www-form-urlencoded",
            "a=KEPT&f=%7B%22secret%22%3A%7B%22x%22%3A%22SECRET%22%7D%7D"),
        ContentSample(
            "a URL in a form", "application/x-www-form-urlencoded",
            "a=KEPT&n=http%253A%252F%252Fbob%253ASECRET%2540h"),
        ContentSample("a form without a type", "", "a=KEPT&password=SECRET"),
        ContentSample(
            "a request", "application/http", "GET /x?token=SECRET HTTP/1.1\r\nHost: KEPT\r\n\r\n",
            .withheld),
        ContentSample(
            "a mail", "message/rfc822", "Subject: KEPT\r\nX-Token: SECRET\r\n\r\n", .withheld),
        ContentSample(
            "text", "text/plain", "KEPT\nhttps://bob:SECRET@h/ password = SECRET\nBearer SECRET"),
        ContentSample(
            "text in UTF-16", "text/plain",
            Spelled.utf16("KEPT https://bob:SECRET@h/", isBig: false, hasMark: true), .withheld),
        ContentSample(
            "text in UTF-32", "text/plain", Spelled.utf32("KEPT password=SECRET", isBig: false),
            .withheld),
        ContentSample(
            "text in UTF-32 by its label", "text/plain; charset=utf-32",
            Spelled.utf32("\u{20AC} password=SECRET", isBig: true), .withheld),
        ContentSample(
            "bytes in UTF-32", "application/octet-stream",
            Spelled.utf32("KEPT password=SECRET", isBig: true), .withheld),
        ContentSample(
            "text in Latin-1", "text/plain; charset=iso-8859-1",
            Spelled.broken("KEPT ~ https://bob:SECRET@h/")),
        ContentSample(
            "text in an unknown charset", "text/plain; charset=utf_8",
            "KEPT\nhttps://bob:SECRET@h/ password = SECRET\nBearer SECRET"),
        ContentSample(
            "text in Shift JIS", "text/plain; charset=Shift_JIS",
            Spelled.broken("KEPT ~ https://bob:SECRET@h/")),
        ContentSample(
            "a key in text of two bytes a character", "text/plain; charset=iso-10646-ucs-2",
            Spelled.utf16(
                "\u{65E5}KEPT ghp_0123456789planted-secret-1 ", isBig: false, hasMark: false)),
        ContentSample(
            "YAML", "application/yaml", "a: KEPT\nb:\n  - password: SECRET\n    token: 'SECRET'\n",
            .withheld),
        ContentSample(
            "a key in bytes", "application/octet-stream",
            Spelled.broken("~KEPT~ghp_0123456789planted-secret-1~")),
    ]
}
