// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A way in which a secret stands in text: add one here, and it is planted in every place and looked
/// for in every output.
struct SecretSpelling: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The text around a secret.
    let text: @Sendable (String) -> String

    init(_ name: String, _ text: @escaping @Sendable (String) -> String) {
        testDescription = name
        self.text = text
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    static let all: [SecretSpelling] = [
        SecretSpelling("a password in a URL") { "https://bob:\($0)@h.example/x" },
        SecretSpelling("a password in a URL with JSON's slashes") {
            "https:\\/\\/bob:\($0)@h.example\\/x"
        },
        SecretSpelling("a password in a URL, encoded") { encoded("https://bob:\($0)@h.example/") },
        SecretSpelling("a password in a URL, twice encoded in another one") {
            "https://h.example/?next=" + encoded(encoded("https://bob:\($0)@h.example/"))
        },
        SecretSpelling("a password in a URL of a database") {
            "postgres://bob:\($0)@db.example:5432/x"
        },
        SecretSpelling("a password without a scheme") { "bob:\($0)@proxy.example:3128" },
        SecretSpelling("an item of a query") { "https://h.example/?x=1&sig=\($0)&y=2" },
        SecretSpelling("an item of a relative query") { "/callback?code=\($0)" },
        SecretSpelling("an item of a nested query") {
            "https://h.example/?next=" + encoded("https://i.example/?access_token=\($0)")
        },
        SecretSpelling("a fragment") { "https://h.example/#access_token=\($0)" },
        SecretSpelling("a refresh") { "0;url=https://h.example/?token=\($0)" },
        SecretSpelling("a bearer token") { "Bearer \($0)" },
        SecretSpelling("a bearer token in a sentence") { "sent 'Bearer \($0)' in vain" },
        SecretSpelling("a basic credential") { "Basic " + base64("bob:\($0)") },
        SecretSpelling("an assignment") { "password=\($0)" },
        SecretSpelling("an assignment with blanks") { "password = \($0)" },
        SecretSpelling("a name and a colon") { "api_key: \($0)" },
        SecretSpelling("a member of JSON") { "{\"a\":1,\"token\":\"\($0)\"}" },
        SecretSpelling("a member of broken JSON") { "{\"a\":1 \"token\" : \"\($0)\"" },
        SecretSpelling("a member of JSON in JSON") { "{\"a\":\"{\\\"token\\\":\\\"\($0)\\\"}\"}" },
        SecretSpelling("a web token") { "eyJhbGciOiJIUzI1NiJ9.e30.\($0)" },
        SecretSpelling("an issuer's key") { "ghp_0123456789abcdef\($0)" },
        SecretSpelling("a private key") {
            "-----BEGIN PRIVATE KEY----- \($0) -----END PRIVATE KEY-----"
        },
        SecretSpelling("an option of a command") { "--password \($0)" },
    ]
}

/// Secrets that tell where they were planted.
enum PlantedSecret {
    /// A secret for a place.
    static func at(_ place: String) -> String { "pl4nted-\(place)-s3cret" }

    /// The places of texts in which a secret stands, as it is or within base64.
    static func leaks(in texts: [String]) -> [String] {
        texts.compactMap { text in
            if let range = text.firstRange(of: /(?i)pl4nted/) {
                return
                    "…\(text[..<range.lowerBound].suffix(120))\(text[range.lowerBound...].prefix(60))…"
            }
            let words = text.split { !($0.isLetter || $0.isNumber || "+/=".contains($0)) }
            return words.first { word in
                guard word.utf8.count >= 12, let data = Data(base64Encoded: padded(word)) else {
                    return false
                }
                return data.range(of: Data("pl4nted".utf8)) != nil
            }.map(String.init)
        }
    }

    private static func padded(_ word: Substring) -> String {
        let bare = word.filter { $0 != "=" }
        return bare + String(repeating: "=", count: (4 - bare.count % 4) % 4)
    }
}
