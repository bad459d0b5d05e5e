// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeCore

/// Content of one type with a secret in it, and what must be left of it.
struct ContentSample: Sendable, CustomTestStringConvertible {
    enum Fate: Sendable {
        /// It is read to its end: what is no secret stays.
        case shown
        /// It cannot be read to its end, so that all of it, or the part of it, is withheld.
        case withheld
    }

    let testDescription: String
    let types: [String]
    let content: Data
    let fate: Fate

    static let secret = "planted-secret-1"
    /// What is no secret.
    static let kept = "kept-as-it-is"

    init(_ name: String, _ type: String, _ content: Data, _ fate: Fate = .shown) {
        self.init(name, types: type.isEmpty ? [] : [type], content, fate)
    }

    init(_ name: String, types: [String], _ content: Data, _ fate: Fate = .shown) {
        testDescription = name
        self.types = types
        self.content = content
        self.fate = fate
    }

    init(_ name: String, _ type: String, _ text: String, _ fate: Fate = .shown) {
        let text = text.replacing("SECRET", with: Self.secret).replacing("KEPT", with: Self.kept)
        self.init(name, type, Data(text.utf8), fate)
    }

    static func text(_ text: String) -> String {
        text.replacing("SECRET", with: secret).replacing("KEPT", with: kept)
    }

    var headers: HTTPHeaders { HTTPHeaders(types.map { ("Content-Type", $0) }) }

    static let all = json + xml + propertyLists + multipart + lines + others + kinds
}

/// A text in an encoding.
enum Spelled {
    static func utf16(_ text: String, isBig: Bool, hasMark: Bool) -> Data {
        let text = ContentSample.text(text)
        let bytes = (hasMark ? [0xFEFF] : []) + Array(text.utf16)
        return Data(
            bytes.flatMap { unit in
                isBig
                    ? [UInt8(unit >> 8), UInt8(unit & 255)] : [UInt8(unit & 255), UInt8(unit >> 8)]
            })
    }

    static func utf32(_ text: String, isBig: Bool) -> Data {
        Data(
            ContentSample.text(text).unicodeScalars.flatMap { scalar -> [UInt8] in
                let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: scalar.value >> $0) }
                return isBig ? bytes : bytes.reversed()
            })
    }

    /// With a byte that is no UTF-8 in the place of `~`.
    static func broken(_ text: String) -> Data {
        Data(ContentSample.text(text).utf8.map { $0 == UInt8(ascii: "~") ? 0xFF : $0 })
    }
}

extension ContentSample {
    private static let object = #"{"a":"KEPT","password":"SECRET"}"#

    static let json: [ContentSample] = [
        ContentSample("JSON", "application/json", object),
        ContentSample("JSON with a charset", "application/json; charset=utf-8", object),
        ContentSample(
            "JSON in Latin-1", "application/json; charset=iso-8859-1",
            Spelled.broken("{\"a\":\"KEPT ~\",\"token\":\"~SECRET~\"}")),
        ContentSample(
            "JSON with a byte that is no UTF-8", "application/json",
            Spelled.broken("{\"a\":\"KEPT\",\"b~\":1,\"token\":\"SECRET\"}")),
        ContentSample("JSON with a byte order mark", "application/json", "\u{FEFF}" + object),
        ContentSample(
            "JSON in UTF-16 with a mark", "application/json",
            Spelled.utf16(object, isBig: false, hasMark: true), .withheld),
        ContentSample(
            "JSON in UTF-16, big", "application/json",
            Spelled.utf16(object, isBig: true, hasMark: true), .withheld),
        ContentSample(
            "JSON in UTF-16 without a mark", "application/json",
            Spelled.utf16(object, isBig: false, hasMark: false), .withheld),
        ContentSample(
            "JSON in UTF-16, big, without a mark", "application/json; charset=utf-16",
            Spelled.utf16(object, isBig: true, hasMark: false), .withheld),
        ContentSample(
            "JSON in UTF-16 of another label", "application/json; charset=utf-8",
            Spelled.utf16(object, isBig: true, hasMark: true), .withheld),
        ContentSample(
            "JSON in UTF-32", "application/json", Spelled.utf32(object, isBig: true), .withheld),
        ContentSample(
            "JSON in UTF-32, little", "application/json; charset=UTF-32LE",
            Spelled.utf32(object, isBig: false), .withheld),
        ContentSample(
            "JSON in UTF-16 of an odd length", "application/json",
            Spelled.utf16(object, isBig: true, hasMark: true) + [0], .withheld),
        ContentSample(
            "JSON that is said to be UTF-16", "application/json; charset=utf-16", object, .withheld),
        ContentSample("JSON in UTF-7", "application/json; charset=utf-7", object, .withheld),
        ContentSample("JSON in EBCDIC", "application/json; charset=ibm037", object, .withheld),
        ContentSample(
            "JSON in Shift JIS", "application/json; charset=Shift_JIS",
            Spelled.broken("{\"a~\":\"KEPT\",\"token\":\"SECRET\"}"), .withheld),
        ContentSample(
            "JSON in ASCII that is said to be Shift JIS", "application/json; charset=Shift_JIS",
            object),
        ContentSample(
            "JSON of two types", types: ["application/json", "text/plain"], Data(text(object).utf8),
            .withheld),
        ContentSample("problem JSON", "application/problem+json", object),
        ContentSample("JSON without a type", "", object),
        ContentSample("JSON as text", "text/plain", object),
        ContentSample("JSON as bytes", "application/octet-stream", " " + object),
        ContentSample("JSON under a type that is none", "json", object),
        ContentSample(
            "names given twice", "application/json",
            #"{"password":"SECRET","a":"KEPT","password":"SECRET"}"#),
        ContentSample(
            "values of all kinds", "application/json",
            #"{"a":"KEPT","secret":{"x":["SECRET",{"y":"SECRET"}],"z":12345678}}"#),
        ContentSample(
            "names with escapes", "application/json",
            #"{"a":"KEPT","p\u0061ssw\u006frd":"SECRET","x%2dapi%2dkey":"SECRET"}"#),
        ContentSample(
            "a name beside a value", "application/json",
            #"[{"name":"a","value":"KEPT"},{"name":"password","value":"SECRET"},{"value":"SECRET","key":"X-Api-Key"}]"#
        ),
        ContentSample(
            "JSON in JSON in JSON", "application/json",
            #"{"a":"KEPT","b":"{\"c\":\"{\\\"token\\\":\\\"SECRET\\\"}\"}"}"#),
        ContentSample(
            "a URL with escaped slashes", "application/json",
            #"{"a":"KEPT","u":"https:\/\/bob:SECRET@h\/?x=1"}"#),
        ContentSample(
            "a URL twice encoded", "application/json",
            #"{"a":"KEPT","u":"https://h/?n=http%253A%252F%252Fb%252F%253Fsig%253DSECRET"}"#),
        ContentSample(
            "a name that is a URL", "application/json", #"{"a":"KEPT","https://bob:SECRET@h/":1}"#),
        ContentSample(
            "a form in JSON", "application/json", #"{"a":"KEPT","body":"x=1&client_secret=SECRET"}"#
        ),
        ContentSample(
            "broken JSON in JSON", "application/json",
            #"{"a":"KEPT","b":"{\"password\" /*c*/ : \"SECRET\"}"}"#, .withheld),
        ContentSample(
            "XML in JSON", "application/json",
            #"{"a":"KEPT","b":"<?xml version='1.0'?><x><password><![CDATA[SECRET]]></password></x>"}"#
        ),
        ContentSample(
            "several values", "application/json", "{\"a\":\"KEPT\"}\n{\"token\":\"SECRET\"}"),
        ContentSample(
            "a value that is cut off", "application/json", #"{"a":"KEPT","token":"SECRET"#,
            .withheld),
        ContentSample(
            "a text behind the value", "application/json", #"{"a":"KEPT"} token=SECRET"#, .withheld),
        ContentSample(
            "a prefix against inclusion", "application/json", ")]}',\n" + object, .withheld),
        ContentSample(
            "a comment", "application/json", #"{"a":"KEPT", /* x */ "password":"SECRET"}"#,
            .withheld),
        ContentSample(
            "quotes of JavaScript", "application/json", "{'password':'SECRET'}", .withheld),
        ContentSample(
            "a trailing comma", "application/json", #"{"a":"KEPT","password":"SECRET",}"#, .withheld
        ),
        ContentSample(
            "a raw line end", "application/json", "{\"password\":\"SECRET\n\"}", .withheld),
        ContentSample("no JSON at all", "application/json", "password SECRET", .withheld),
    ]

    static let xml: [ContentSample] = [
        ContentSample("XML", "application/xml", "<a><b>KEPT</b><password>SECRET</password></a>"),
        ContentSample(
            "XML with a charset", "text/xml; charset=iso-8859-1",
            Spelled.broken("<a><b>KEPT ~</b><password>~SECRET</password></a>")),
        ContentSample(
            "XML with a byte that is no UTF-8", "text/xml",
            Spelled.broken("<a><b>KEPT ~</b><password>SECRET</password></a>")),
        ContentSample(
            "XML in UTF-16", "text/xml",
            Spelled.utf16(
                "<?xml version=\"1.0\" encoding=\"utf-16\"?><a><b>KEPT</b><token>SECRET</token></a>",
                isBig: false, hasMark: true), .withheld),
        ContentSample(
            "XML in UTF-16 without a mark", "text/xml",
            Spelled.utf16("<a><b>KEPT</b><token>SECRET</token></a>", isBig: true, hasMark: false),
            .withheld),
        ContentSample(
            "XML that declares UTF-16 in ASCII", "text/xml",
            "<?xml version=\"1.0\" encoding=\"utf-16\"?><a><b>KEPT</b><token>SECRET</token></a>"),
        ContentSample(
            "XML that declares UTF-7", "text/xml",
            "<?xml version=\"1.0\" encoding=\"utf-7\"?><a><token>SECRET</token></a>", .withheld),
        ContentSample(
            "SOAP", "application/soap+xml",
            "<s:E xmlns:s='x'><s:B>KEPT</s:B><wsse:Password Type='t'>SECRET</wsse:Password></s:E>"
                .replacing("wsse:", with: "s:")),
        ContentSample(
            "character data", "text/xml",
            "<a><b>KEPT</b><token><![CDATA[SEC]]><![CDATA[RET]]>SECRET</token></a>"),
        ContentSample(
            "elements of one name in each other", "text/xml",
            "<a><b>KEPT</b><token><token>x</token>SECRET</token></a>"),
        ContentSample(
            "an end of another name", "text/xml", "<a><token>x</tokenz>SECRET</token></a>",
            .withheld),
        ContentSample(
            "an element with a longer name inside", "text/xml",
            "<a><b>KEPT</b><token><tokenz>x</tokenz>SECRET</token></a>"),
        ContentSample(
            "deep elements", "text/xml",
            "<a><b>KEPT</b><credentials><x><y z='SECRET'>SECRET</y></x></credentials></a>"),
        ContentSample(
            "attributes", "text/xml",
            "<a b='KEPT' password='SECRET' api-key = \"SECRET > SECRET\"/>"),
        ContentSample(
            "attributes beside each other", "text/xml",
            "<a b='KEPT'><add key='Password' value='SECRET'/><p name='token'>SECRET</p></a>"),
        ContentSample(
            "elements beside each other", "text/xml",
            "<a><member><name>password</name><value><string>SECRET</string></value></member><name>b</name><value>KEPT</value></a>"
        ),
        ContentSample(
            "a value before its name", "text/xml",
            "<a><b>KEPT</b><m><value>SECRET</value><name>password</name></m></a>"),
        ContentSample(
            "a text that remarks split", "text/xml",
            "<a><b>KEPT</b><u>https://bob:<!-- x -->SECRET@h/</u></a>"),
        ContentSample(
            "entities", "text/xml",
            "<a><b>KEPT</b><u>https:&#x2F;&#47;bob:SECRET@h/?a&amp;b</u></a>"),
        ContentSample("a remark", "text/xml", "<a><b>KEPT</b><!-- password=SECRET --></a>"),
        ContentSample("an instruction", "text/xml", "<?x password=\"SECRET\"?><a>KEPT</a>"),
        ContentSample(
            "JSON in XML", "text/xml",
            "<a><b>KEPT</b><c>{&quot;token&quot;:&quot;SECRET&quot;}</c></a>"),
        ContentSample(
            "declarations", "text/xml",
            "<!DOCTYPE a [<!ENTITY s 'SECRET'>]><a><password>&s;</password></a>", .withheld),
        ContentSample(
            "an end within a quote of a document type", "text/xml",
            "<!DOCTYPE a SYSTEM \"x>y\" [<!ENTITY s 'SECRET'>]><a>&s;</a>", .withheld),
        ContentSample(
            "a mark behind a tag", "text/xml",
            "<a><b>KEPT</b><password>\u{301}SECRET</password></a>"),
        ContentSample(
            "a mark within an end tag", "text/xml",
            "<a><password>SECRET<\u{301}/password>SECRET</a>", .withheld),
        ContentSample("XML that is cut off", "text/xml", "<a><password>SECRET", .withheld),
        ContentSample("XML that is none", "text/xml", "<a password=SECRET>", .withheld),
        ContentSample("text behind the document", "text/xml", "<a/>password=SECRET", .withheld),
        ContentSample(
            "HTML", "text/html",
            "<html><br><p>KEPT<form><input name=password value=SECRET><input name=\"csrf_token\" type=hidden value=\"SECRET\"></html>"
        ),
        ContentSample(
            "an image", "image/svg+xml", "<svg><text>KEPT</text><token>SECRET</token></svg>"),
    ]
}
