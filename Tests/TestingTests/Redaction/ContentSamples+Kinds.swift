// SPDX-License-Identifier: Apache-2.0

import Foundation

extension ContentSample {
    private static func packed(_ text: String) -> String {
        Data(self.text(text).utf8).base64EncodedString().replacing("=", with: "")
    }

    /// What only the place or the kind of a value tells.
    static let kinds: [ContentSample] = [
        ContentSample(
            "JSON Patch", "application/json-patch+json",
            #"[{"op":"add","path":"/a","value":"KEPT"},{"op":"add","path":"/user/password","value":"SECRET"},{"op":"test","value":{"x":["SECRET"]},"path":"/otp"}]"#
        ),
        ContentSample(
            "a JSON Web Key", "application/jwk-set+json",
            #"{"keys":[{"kty":"RSA","kid":"KEPT","d":"SECRET","p":"SECRET","oth":[{"d":"SECRET"}]},{"k":"SECRET","kty":"oct"}]}"#
        ),
        ContentSample(
            "secrets of Kubernetes", "application/json",
            #"{"apiVersion":"v1","kind":"SecretList","items":[{"a":"KEPT","data":{"x":"SECRET"}},{"stringData":{"x":"SECRET"}}]}"#
        ),
        ContentSample(
            "a key in XML", "text/xml",
            "<RSAKeyValue><Modulus>KEPT</Modulus><D>SECRET</D></RSAKeyValue>"),
        ContentSample("CSV of one column", "text/csv", "KEPT\npassword\nSECRET\n", .withheld),
        ContentSample("CSV", "text/csv", "id,password,b\nKEPT,SECRET,x\n1,\"SECRET\",\"y, z\"\n"),
        ContentSample(
            "CSV with semicolons", "text/csv", "sep=;\r\nid;Api key\r\nKEPT;\"a;\"\"SECRET\"\r\n"),
        ContentSample(
            "CSV with an empty separator", "text/csv", "sep=\npassword\nSECRET\n", .withheld),
        ContentSample(
            "CSV with a quote as its separator", "text/csv", "sep=\"\nid\"token\nKEPT\"SECRET\n",
            .withheld),
        ContentSample(
            "CSV below a title with a separator", "text/csv",
            "Users, 2026\nid,password,b\nKEPT,SECRET,x\n", .withheld),
        ContentSample(
            "CSV below a title that is a name", "text/csv",
            "name, 2026\npassword,id\nSECRET,KEPT\n", .withheld),
        ContentSample(
            "CSV below titles and remarks", "text/csv",
            "Users, 2026\nby, anna\nfrom, a\nto, b\nall, of them\nid,password\nKEPT,SECRET\n",
            .withheld),
        ContentSample(
            "CSV below many titles", "text/csv",
            "A\nB\nC\nD\nE\nF\nUsers, 2026\nid,password\nKEPT,SECRET\n", .withheld),
        ContentSample(
            "CSV below a title with another separator", "text/csv",
            "Users, 2026\nid;pin;b\nKEPT;SECRET;\"x, y\"\n", .withheld),
        ContentSample(
            "two tables in CSV", "text/csv",
            "id,b\n1,x\n2,x\n3,x\n4,x\n5,x\n6,x\n7,x\n\r\nid,password\nKEPT,SECRET\n", .withheld),
        ContentSample(
            "CSV below a title that looks like pairs", "text/csv",
            "name, value\nid,password\nKEPT,SECRET\n", .withheld),
        ContentSample("CSV of names", "text/csv", "name,value\na,KEPT\ntoken,SECRET\n", .withheld),
        ContentSample(
            "CSV in Latin-1", "text/csv; charset=iso-8859-1",
            Spelled.broken("id,token\nKEPT ~,SECRET~\n")),
        ContentSample(
            "CSV of odd rows", "text/csv", "id,token\n1,2,SECRET\nx \"y\",SECRET\n", .withheld),
        ContentSample("CSV with an open quote", "text/csv", "id,token\n1,\"SECRET\n", .withheld),
        ContentSample("TSV", "text/tab-separated-values", "id\ttoken\nKEPT\tSECRET\n"),
        ContentSample(
            "base64 of JSON in text", "text/plain",
            "KEPT http://h/?s=" + packed(#"{"token":"SECRET"}"#) + "&x=1"),
        ContentSample(
            "base64 of JSON in a path", "text/plain",
            "KEPT http://h/" + packed(#"{"token":"SECRET"}"#) + "/x"),
        ContentSample(
            "JSON in a query", "text/plain",
            "KEPT http://h/?q=%5B%7B%22name%22%3A%22token%22%2C%22value%22%3A%22SECRET%22%7D%5D"),
        ContentSample(
            "a command", "text/plain", "KEPT\ncurl -u ada:SECRET \\\n  -b 'x=SECRET' https://h/"),
        ContentSample(
            "a netrc file", "text/plain", "# KEPT\nmachine h\nlogin ada\npassword SECRET\n"),
        ContentSample(
            "values of several lines", "text/plain",
            "a: KEPT\npassword: |\n  SECRET\n  SECRET\ntoken = '''\nSECRET\n'''\n"),
        ContentSample("LDIF", "text/ldif", "cn: KEPT\nuserPassword:: SECRET\n"),
        ContentSample(
            "a sentence", "text/plain", "KEPT: the token planted-secret-1 has expired"),
        ContentSample("CBOR", "application/cbor", "\u{1}SECRET", .withheld),
        ContentSample("MessagePack", "application/x-msgpack", "\u{1}SECRET", .withheld),
        ContentSample("protobuf", "application/x-protobuf", "\u{1}SECRET", .withheld),
        ContentSample("gRPC", "application/grpc+proto", "\u{1}SECRET", .withheld),
        ContentSample(
            "what is compressed", "application/octet-stream",
            Data([0x1F, 0x8B, 8, 0]) + Data(secret.utf8), .withheld),
    ]
}
