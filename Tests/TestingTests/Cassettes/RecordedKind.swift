// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

/// One kind of content, header field or query with a secret in it.
struct RecordedKind: Sendable, CustomTestStringConvertible {
    enum Place: Sendable {
        case content(type: String)
        case field(String)
        case query
    }

    /// What must be left.
    enum Fate: Sendable {
        /// Only what is no secret.
        case shown
        /// A placeholder, for all of it or for a part.
        case withheld
    }

    let testDescription: String
    let place: Place
    let bytes: Data
    let fate: Fate

    /// A secret that its name or its place tells.
    static let word = "planted-by-a-name"
    /// A secret that also looks like one.
    static let made = "pl4nted9f86d081"
    /// A code that people type.
    static let code = "48291377"
    /// What is no secret.
    static let kept = "kept-as-it-is"

    init(_ name: String, _ place: Place, _ bytes: Data, _ fate: Fate = .shown) {
        testDescription = name
        self.place = place
        self.bytes = bytes
        self.fate = fate
    }

    init(_ name: String, _ type: String, _ text: String, _ fate: Fate = .shown) {
        self.init(name, .content(type: type), Data(Self.text(text).utf8), fate)
    }

    static func text(_ text: String) -> String {
        text.replacing("WORD", with: word).replacing("MADE", with: made)
            .replacing("CODE", with: code).replacing("KEPT", with: kept)
    }

    /// Base64 of a text, in the alphabet of URLs and without padding.
    static func packed(_ text: String) -> String {
        Data(Self.text(text).utf8).base64EncodedString().replacing("+", with: "-")
            .replacing("/", with: "_").replacing("=", with: "")
    }

    private static func field(_ name: String, _ value: String) -> RecordedKind {
        RecordedKind("\(name): \(value)", .field(name), Data(text(value).utf8))
    }

    private static func query(_ value: String) -> RecordedKind {
        RecordedKind("?\(value)", .query, Data(text(value).utf8))
    }

    static let all =
        json + keys + codes + tables + texts + sentences + commands + messages + unread + places

    private static let json: [RecordedKind] = [
        RecordedKind("JSON", "application/json", #"{"a":"KEPT","password":"WORD"}"#),
        RecordedKind("JSON of an API", "application/vnd.api+json", #"{"a":"KEPT","token":"WORD"}"#),
        RecordedKind("JSON as text", "text/plain", #"{"a":"KEPT","secret":["WORD"]}"#),
        RecordedKind("JSON5", "application/json5", "{a: 'KEPT', password: 'WORD'}", .withheld),
        RecordedKind(
            "JSON Patch", "application/json-patch+json",
            #"[{"op":"add","path":"/a","value":"KEPT"},{"op":"replace","path":"/user/password","value":"WORD"}]"#
        ),
        RecordedKind(
            "JSON Patch, the path last", "application/json-patch+json",
            #"[{"value":["WORD"],"op":"test","path":"/users/0/otp"},{"a":"KEPT"}]"#),
        RecordedKind(
            "JSON Patch of an object", "application/json-patch+json",
            #"[{"op":"add","path":"/credentials/-","value":{"x":"WORD"}},{"a":"KEPT"}]"#),
        RecordedKind(
            "JSON Patch with escapes", "application/json-patch+json",
            #"[{"op":"add","path":"\/a~1b\/pass\u0077ord","value":"WORD"},{"a":"KEPT"}]"#),
        RecordedKind(
            "SCIM", "application/scim+json",
            #"{"Operations":[{"op":"replace","path":"urn:ietf:params:scim:schemas:core:2.0:User:password","value":"WORD"}],"a":"KEPT"}"#
        ),
        RecordedKind(
            "JSON Merge Patch", "application/merge-patch+json",
            #"{"a":"KEPT","user":{"password":"WORD"}}"#),
        RecordedKind(
            "a Kubernetes secret", "application/json",
            #"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"KEPT"},"data":{"x":"WORD"},"stringData":{"y":"WORD"}}"#
        ),
        RecordedKind(
            "a Kubernetes secret, the kind last", "application/json",
            #"{"apiVersion":"v1","data":{"x":"WORD"},"metadata":{"name":"KEPT"},"kind":"Secret"}"#),
        RecordedKind(
            "a list of Kubernetes secrets", "application/json",
            #"{"kind":"SecretList","items":[{"metadata":{"name":"KEPT"},"data":{"x":"WORD"}}]}"#),
        RecordedKind(
            "a watch of Kubernetes secrets", "application/json;stream=watch",
            #"{"type":"ADDED","object":{"kind":"Secret","data":{"x":"WORD"},"a":"KEPT"}}"#),
        RecordedKind(
            "a Kubernetes annotation", "application/json",
            #"{"metadata":{"annotations":{"last":"{\"kind\":\"Secret\",\"stringData\":{\"x\":\"WORD\"}}","a":"KEPT"}}}"#
        ),
        RecordedKind(
            "a login of Docker", "application/json",
            #"{"auths":{"KEPT":{"auth":"WORD"}}}"#),
        RecordedKind(
            "parameters of CloudFormation", "application/json",
            #"[{"ParameterKey":"DbPassword","ParameterValue":"WORD"},{"a":"KEPT"}]"#),
        RecordedKind(
            "a log of changes", "application/json",
            #"{"field":"password","oldValue":"WORD","newValue":"WORD","a":"KEPT"}"#),
        RecordedKind(
            "variables of GraphQL", "application/json",
            #"{"query":"mutation($p:String){login(password:$p)}","variables":{"password":"WORD","a":"KEPT"}}"#
        ),
        RecordedKind(
            "GraphQL in JSON", "application/json",
            #"{"query":"mutation{login(a:\"KEPT\",password:\"WORD\")}"}"#),
        RecordedKind(
            "base64 of JSON in JSON", "application/json",
            #"{"a":"KEPT","state":""# + packed(#"{"password":"WORD"}"#) + #""}"#),
        RecordedKind(
            "base64 of JSON within a text", "application/json",
            #"{"a":"KEPT state="# + packed(#"{"password":"WORD"}"#) + #" there"}"#),
        RecordedKind(
            "a signed JSON object", "application/jose+json",
            #"{"a":"KEPT","payload":""# + packed(#"{"token":"WORD"}"#) + #"","signature":"WORD"}"#),
        RecordedKind(
            "JSON lines", "application/x-ndjson", "{\"a\":\"KEPT\"}\n{\"token\":\"WORD\"}\n"),
        RecordedKind(
            "JSON Patch in JSON lines", "application/jsonl",
            "{\"a\":\"KEPT\"}\n{\"op\":\"add\",\"path\":\"/token\",\"value\":\"WORD\"}\n"),
        RecordedKind(
            "an event stream", "text/event-stream",
            "data: KEPT\n\ndata: {\"one_time_code\":\"WORD\"}\n\n"),
        RecordedKind(
            "an event in two lines", "text/event-stream",
            "data: KEPT\n\ndata: {\"token\":\ndata: \"WORD\"}\n\n"),
    ]

    private static let keys: [RecordedKind] = {
        let rsa =
            #"{"kty":"RSA","kid":"KEPT","n":"AQAB","e":"AQAB","d":"WORD","p":"WORD","q":"WORD","dp":"WORD","dq":"WORD","qi":"WORD","oth":[{"r":"WORD","d":"WORD","t":"WORD"}]}"#
        return [
            RecordedKind("a JSON Web Key", "application/jwk+json", rsa),
            RecordedKind("a set of keys", "application/jwk-set+json", #"{"keys":["# + rsa + "]}"),
            RecordedKind(
                "a key of a curve", "application/json",
                #"{"d":"WORD","crv":"P-256","x":"KEPT","y":"AQAB","kty":"EC"}"#),
            RecordedKind(
                "a symmetric key", "application/json", #"{"kty":"oct","kid":"KEPT","k":"WORD"}"#),
            RecordedKind("a key in a member", "application/json", #"{"a":{"jwk":"# + rsa + "}}"),
            RecordedKind(
                "a key in XML", "text/xml",
                "<RSAKeyValue><Modulus>KEPT</Modulus><P>WORD</P><D>WORD</D><InverseQ>WORD</InverseQ></RSAKeyValue>"
            ),
            RecordedKind(
                "a key in PEM", "application/x-pem-file",
                "KEPT\n-----BEGIN PRIVATE KEY-----\nWORD\n-----END PRIVATE KEY-----\n"),
            RecordedKind(
                "a key in DER", .content(type: "application/pkcs8"),
                Data([0x30, 0x82]) + Data(word.utf8), .withheld),
        ]
    }()

    private static let codes: [RecordedKind] = [
        "otp", "totp", "pin", "one_time_code", "oneTimeCode", "verification_code", "mfaCode",
        "two_factor_code", "sms_code", "security-code", "loginCode", "access_code", "user_code",
        "backup_codes", "recovery_codes", "recovery_key", "oauth_verifier", "mnemonic",
        "one_time_password", "confirmationCode",
    ].map {
        RecordedKind(
            "the code \($0)", "application/json", "{\"a\":\"KEPT\",\"\($0)\":[\"WORD\",48291377]}")
    }

    private static let tables: [RecordedKind] = [
        RecordedKind("CSV", "text/csv", "id,password,note\n1,WORD,KEPT\n2,WORD,\n"),
        RecordedKind(
            "CSV with quotes", "text/csv; charset=utf-8",
            "\"id\",\"API key\"\r\n\"KEPT\",\"WORD, \"\"and\nmore WORD\"\r\n"),
        RecordedKind("CSV of a spreadsheet", "text/csv", "\u{FEFF}sep=;\nid;Token\nKEPT;WORD\n"),
        RecordedKind(
            "CSV with a title", "text/csv", "# an export\n\nid,secret\nKEPT,WORD\n", .withheld),
        RecordedKind(
            "CSV of names and values", "text/csv", "name,value\na,KEPT\npassword,WORD\n", .withheld),
        RecordedKind("CSV without a secret column", "text/csv", "a,b\nKEPT,https://u:WORD@h/\n"),
        RecordedKind(
            "CSV with another number of cells", "text/csv", "id,token\nKEPT,x\n1,a,WORD\n",
            .withheld),
        RecordedKind("CSV with an odd quote", "text/csv", "id,token\n1,\"WORD\n", .withheld),
        RecordedKind("CSV with JSON", "text/csv", "id,b\nKEPT,\"{\"\"token\"\":\"\"WORD\"\"}\"\n"),
        RecordedKind("CSV as an application", "application/csv", "id|pwd\nKEPT|WORD\n"),
        RecordedKind("TSV", "text/tab-separated-values", "id\tpassword\nKEPT\tWORD\n"),
        RecordedKind("TSV with codes", "text/tsv", "id\tone-time code\nKEPT\tWORD\n"),
    ]

    private static let texts: [RecordedKind] = [
        RecordedKind("text", "text/plain", "KEPT password = WORD"),
        RecordedKind("a URL in text", "text/plain", "KEPT https://ada:WORD@h/?x=1"),
        RecordedKind(
            "base64 in a URL in text", "text/plain",
            "KEPT http://h/cb?state=" + packed(#"{"token":"WORD"}"#)),
        RecordedKind("properties", "text/x-java-properties", "a=KEPT\ndb.password=WORD\n"),
        RecordedKind("environment", "text/plain", "A=KEPT\nexport API_TOKEN=WORD\n"),
        RecordedKind("INI", "text/plain", "[a]\nb = KEPT\npassword = WORD\n"),
        RecordedKind(
            "a text of several lines", "text/plain", "a = 'KEPT'\npassword = \"\"\"\nWORD\n\"\"\"\n"
        ),
        RecordedKind(
            "a block of YAML in text", "text/plain", "a: KEPT\npassword: |\n  WORD\n  WORD\nb: c\n"),
        RecordedKind("LDIF", "text/ldif", "cn: KEPT\nuserPassword:: WORD\n"),
        RecordedKind("JavaScript", "application/javascript", "let a = 'KEPT', password = 'WORD'"),
        RecordedKind("HTML", "text/html", "<p>KEPT<input name=password value=WORD>"),
        RecordedKind("XML", "application/xml", "<a><b>KEPT</b><password>WORD</password></a>"),
        RecordedKind(
            "a property list", "application/x-plist",
            "<plist><dict><key>a</key><string>KEPT</string><key>token</key><string>WORD</string></dict></plist>"
        ),
        RecordedKind("a web token", "application/jwt", packed(#"{"alg":"HS256"}"#) + ".MADE.MADE"),
    ]

    private static let sentences: [RecordedKind] = [
        "the password is MADE", "Token MADE has expired.", "The token 'MADE' is invalid",
        "API key MADE was not found", "Incorrect API key provided: MADE.",
        "invalid secret \"MADE\"",
        "the access token MADE of ada", "Your verification code is CODE.", "Your PIN: CODE",
        "your code is CODE, use it soon", "CODE is your verification code",
        "One-time code: CODE", "security code CODE", "OTP is CODE", "passcode MADE",
    ].map {
        RecordedKind(
            "a problem: \($0)", "application/problem+json",
            "{\"title\":\"KEPT\",\"detail\":\(JSONValue.string($0))}")
    }

    private static let commands: [RecordedKind] = [
        "curl -u ada:WORD https://h/", "curl -uada:WORD h", "curl --user 'ada:WORD' h",
        "curl --proxy-user ada:WORD h", "curl -U ada:WORD h", "curl -b 'x=WORD' h",
        "curl --oauth2-bearer WORD h", "curl -H 'X-Api-Key: WORD' h", "curl -E a.pem:WORD h",
        "curl h \\\n  -u ada:WORD", "wget --http-password WORD", "tool -u ada:WORD",
        "machine h.example login ada password WORD", "machine h\n  login ada\n  password WORD\n",
        "default login ada password WORD", "machine h password WORD login ada",
    ].map { RecordedKind($0, "text/plain", "KEPT\n\($0)") }

    private static let messages: [RecordedKind] = [
        RecordedKind(
            "a form", "application/x-www-form-urlencoded", "a=KEPT&verification_code=WORD"),
        RecordedKind(
            "base64 in a form", "application/x-www-form-urlencoded",
            "a=KEPT&state=" + packed(#"{"token":"WORD"}"#)),
        RecordedKind(
            "a part with a table", "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"f\"\r\nContent-Type: text/csv\r\n\r\nid,token\nKEPT,WORD\r\n--b--\r\n"
        ),
        RecordedKind(
            "a part of a type that is not read", "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"f\"\r\nContent-Type: application/yaml\r\n\r\nb: WORD\r\n--b--\r\n",
            .withheld),
        RecordedKind(
            "a range in a part", "multipart/byteranges; boundary=b",
            "--b\r\nContent-Type: text/csv\r\nContent-Range: bytes 20-40/99\r\n\r\n1,WORD\r\n--b--\r\n",
            .withheld),
        RecordedKind(
            "a message", "application/http",
            "GET /KEPT HTTP/1.1\r\nSec-WebSocket-Protocol: bearer, WORD\r\n\r\n", .withheld),
        RecordedKind(
            "a mail", "message/rfc822", "Subject: KEPT\r\nX-Otp: WORD\r\n\r\nYour code is CODE\r\n",
            .withheld),
    ]

    private static let unread: [RecordedKind] = {
        let cbor = Data([0xA1, 0x68]) + Data("password".utf8) + Data([0x71]) + Data(word.utf8)
        let pack = Data([0x81, 0xA8]) + Data("password".utf8) + Data([0xB1]) + Data(word.utf8)
        let proto = Data([0x0A, 0x11]) + Data(word.utf8)
        let yaml = Data("kind: Secret\nstringData: {x: \(word)}\n".utf8)
        let squeezed = Data([0x1F, 0x8B, 0x08, 0]) + Data(word.utf8)
        let bytes: [(Data, [String])] = [
            (cbor, ["application/cbor", "application/senml+cbor", "application/cbor-seq"]),
            (Data([0xD9, 0xD9, 0xF7]) + cbor, ["application/octet-stream"]),
            (
                pack,
                ["application/msgpack", "application/x-msgpack", "application/vnd.msgpack"]
            ),
            (
                proto,
                [
                    "application/x-protobuf", "application/protobuf",
                    "application/vnd.google.protobuf",
                ]
            ),
            (
                Data([0, 0, 0, 0, 0x13]) + proto,
                ["application/grpc", "application/grpc+proto", "application/grpc-web+json"]
            ),
            (
                yaml,
                [
                    "application/yaml", "text/yaml", "application/x-yaml", "text/x-yaml",
                    "application/vnd.oai.openapi+yaml",
                ]
            ),
            (Data("password = \(word)".utf8), ["application/toml"]),
            (pack, ["application/bson", "application/x-jackson-smile", "application/avro"]),
            (squeezed, ["application/gzip", "application/octet-stream", ""]),
            (
                Data([0x50, 0x4B, 3, 4]) + Data(word.utf8),
                ["application/zip", "application/java-archive"]
            ),
        ]
        return bytes.flatMap { bytes, types in
            types.map {
                RecordedKind(
                    "\($0.isEmpty ? "no type" : $0), \(bytes.count) bytes", .content(type: $0),
                    bytes, .withheld)
            }
        }
    }()

    private static let places: [RecordedKind] = [
        field("Sec-WebSocket-Protocol", "graphql-ws, bearer, WORD"),
        field("Sec-WebSocket-Protocol", "graphql-ws, bearer.WORD"),
        field("Sec-WebSocket-Protocol", "access_token, WORD, graphql-ws"),
        field(
            "Sec-WebSocket-Protocol",
            "base64url.bearer.authorization.k8s.io.WORD, v4.channel.k8s.io"),
        field("Sec-WebSocket-Protocol", "chat, MADE0123456789"),
        field("X-Note", "Your code is CODE"), field("X-Mfa-Code", "WORD"),
        field("X-State", packed(#"{"token":"WORD"}"#)), field("Cookie", "a=WORD"),
        query("a=KEPT&state=" + packed(#"{"password":"WORD"}"#)),
        query("a=KEPT&state=" + packed("{\n \"token\": \"WORD\"}")),
        query("a=KEPT&s=x." + packed(#"[{"token":"WORD"}]"#)),
        query("a=KEPT&next=%2Fcb%3Fstate%3D" + packed(#"{"password":"WORD"}"#)),
        query("a=KEPT&one_time_code=WORD"), query("a=KEPT&oauth_verifier=WORD"),
        query("a=KEPT&q=%7B%22kty%22%3A%22oct%22%2C%22k%22%3A%22WORD%22%7D"),
    ]
}
