// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore

@Suite("Redaction of text")
struct RedactionTextTests {
    static let hidden = [
        // Names, however they are written.
        "password = s3cret", "password  =  s3cret", "Password: s3cret", "password:s3cret",
        "password=s3cret", "db.password = s3cret", "DB_PASSWORD=s3cret", "password == s3cret",
        "password => s3cret", "password := s3cret", "passwd='s3cret'", "pwd=s3cret",
        "params[\"password\"] = \"s3cret\"", "user[password]=s3cret", "API key: s3cret1",
        "access token: s3cret", "the password is s3cret1", "otp=s3cret", "client_secret: s3cret",
        "secret:\ts3cret", "\"pwd\": \"s3cret\"", "'code':'s3cret'", "{\"a\":1,\"key\":\"s3cret\"",
        "\"secret\" : { \"v\" : [ \"x\", \"s3cret\" ] }", "\"token\":\n  \"s3cret\"",
        "password=\"an s3cret\"", "password=a;s3cret", "password=a,s3cret", "password=(s3cret)",
        "--password s3cret --user x", "--client-secret 's3cret'", "mysql --password=s3cret",
        // Header fields in text.
        "X-Api-Key: s3cret", "Cookie: a=1; sid=s3cret", "X-Auth: s3cret",
        "> Authorization: Bearer s3cret\n> Accept: */*", "curl -H 'X-Jwt: s3cret' http://a/",
        "authorization: s3cret", "Proxy-Authorization: Basic s3cret", "set-cookie: s3cret",
        // Schemes.
        "sent Bearer s3cret", "bearer s3cret1", "BEARER s3cret", "Bearer 's3cret'",
        "(Bearer s3cret)",
        "Bearer wordsecret", "got Bearer\ts3cret, 401", "?h=Bearer+s3cret", "DPoP s3cret",
        "Basic dXNlcjpzM2NyZXQ=", "basic dXNlcjpzM2NyZXQ", "with Basic 'dXNlcjpzM2NyZXQ='!",
        "Token 0123456789abcdef0123", "Negotiate YIIZG1hZG1pbjpzZWNyZXQ2",
        "Digest username=\"u\", response=\"s3cret\"",
        "AWS4-HMAC-SHA256 Credential=s3cret/x, Signature=s3cret",
        "OAuth oauth_token=\"s3cret\"",
        // Sentences, command lines and netrc files.
        "the token s3cret0123 has expired", "Incorrect API key provided: s3cret0123.",
        "password 's3cret0123' is wrong", "verification code: s3cret", "your PIN is s3cret1",
        "curl -u ada:s3cret https://h/", "curl -uada:s3cret", "tool -u 'ada:s3cret' x",
        "curl --user ada:s3cret", "curl --oauth2-bearer s3cret", "curl -b 'x=s3cret; y=1' h",
        "curl+-b+jar+-u+ada:s3cret", "curl -u http://-uada:s3cret", "curl -u x,-b=s3cret",
        "machine h login ada password s3cret", "default login ada password s3cret",
        "userPassword:: s3cret", "token = \"\"\"s3cret\"\"\"",
        // Looks.
        "eyJhbGciOiJIUzI1NiJ9.e30.s3cret-s3cret", "x=eyJhbGciOiJIUzI1NiJ9.e30.s3cret",
        "(ghp_0123456789abcdefs3cret)", "key ghp_0123456789abcdefs3cret.",
        "user_ghp_0123456789abcdefs3cret",
        "SG.0123456789abcdef.s3cret0123456789", "sk-proj-0123456789s3cret0123",
        "-----BEGIN RSA PRIVATE KEY-----\ns3cret\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\\ns3cret",
        // User information.
        "https://bob:s3cret@h/", "https:\\/\\/bob:s3cret@h\\/", "https:\\\\bob:s3cret@h",
        "https:bob:s3cret@h.example/", "https:/bob:s3cret@h/x", "//bob:s3cret@h",
        "proxy bob:s3cret@proxy.example:3128", "postgres://u:a/s3cret@h/db",
        "redis://:s3cret@h:6379",
        "amqp://u:s3c#s3cret@h", "http://u:p@s3cret@h/", "https%3A%2F%2Fbob%3As3cret%40h",
        "https%253A%252F%252Fbob%253As3cret%2540h", "https\\u003a\\u002f\\u002fbob:s3cret@h",
        "https:&#x2F;&#47;bob:s3cret@h", "http://u:s3cret@[::1]:80/", "ada:s3cret@10.0.0.1",
        // URLs.
        "http://a/?x=1&amp;token=s3cret", "/cb?code=s3cret", "0;url=https://h/?access_token=s3cret",
        "see <http://a/?sig=s3cret>", "http://a/?n=http%253A%252F%252Fb%252F%253Fsig%253Ds3cret",
        "http://a/?n=http%3A%2F%2Fb%2Freset-token%2Fs3cret1",
        "http://a/?q=%7B%22a%22%3A%7B%22key%22%3A%22s3cret%22%7D%7D",
        "http://a/?token=s3cret;x=s3cret", "http://a/#/cb?x=1&id_token=s3cret",
        // Markup.
        "<p><password>s3cret</password>", "<input name=\"password\" value=\"s3cret\">",
        "<meta name='csrf-token' content='s3cret'>", "<a:Token x='1'>s3cret</a:Token>",
        "<input type=password value=s3cret>", "<x token=\"s3cret\"/>",
        // Escapes within escapes, and names with them.
        "{\\\"password\\\":\\\"s3cret\\\"}", "{\\\\\\\"password\\\\\\\":\\\\\\\"s3cret\\\\\\\"}",
        "\"pass\\u0077ord\": \"s3cret\"", "pass%77ord=s3cret", "p&#97;ssword=s3cret",
    ]

    @Test("No secret is shown, however it is written", arguments: hidden)
    func hides(text: String) {
        for text in [text, "before \(text) after", "before\n\(text)\nafter", "\"\(text)\""] {
            let shown = Redaction.standard.text(text)
            #expect(!shown.contains("s3cret") && !shown.contains("wordsecret"), "\(shown)")
            #expect(!shown.contains("dXNlcjpzM2NyZXQ"), "\(shown)")
            #expect(shown.contains(Redaction.mark))
            #expect(shown.contains("before") == text.contains("before"))
            #expect(Redaction.standard.text(shown) == shown, "not the same a second time")
        }
    }

    static let ordinary = [
        "The password must have 8 characters and one digit.", "Reset your password: click here",
        "password: required", "Password: must be at least 8 characters", "token: is missing",
        "Invalid token: expected a string", "unexpected token: }", "unexpected token = in JSON",
        "Your token expired at 2024-01-01T00:00:00Z.", "secret: none", "no password was given",
        "Basic authentication failed", "a basic plan", "Basic access", "Bearer token missing",
        "WWW-Authenticate is Bearer realm=\"api\", error=\"invalid_token\"", "the ring bearer said",
        "token_type=bearer expires_in=3600", "max_tokens=4096 total_tokens: 5321",
        "id=550e8400-e29b-41d4-a716-446655440000",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "ETag \"33a64df551425fcc55e4d42a148795d9f25f89d4\"", "code=404 key=x", "key: value",
        "mailto:ada@example.com", "write to ada@example.com or email:ada@example.com",
        "nginx:1.25@sha256:9fceb02d0ae598e95dc970b74767f19372d61af8", "npm:lodash@4.17.21",
        "git@github.com:org/repo.git", "10:30:00 12:45", "http://a:8080/x?page=2&sort=-name#top",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "a = b; c == d, e => f: g", "std::token::Kind", "C:\\Users\\ada\\token.txt", "1 < 2 > 0",
        "<p>Use the <b>token</b> field</p>", "Authorization header missing", "https://a//b",
        "Use Authorization: Bearer <token> in the header", "tokens per minute: 500",
        "risk-free sk-test",
        "\u{1F468}\u{200D}\u{1F469} gr\u{FC}\u{DF}e \u{5BC6}\u{7801}",
        "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer",
        "The secretary's tokenizer", "eyJpZCI6MTIzfQ==", "// see ada@example.com",
        "50% off & more; 100%",
        "Cache-Control: private, max-age=0", "Vary: Cookie, Authorization",
        "X-Request-ID: 4711-0815-4712",
        "unexpected token a1b2c3d4e5", "POST /oauth/token HTTP/1.1", "docker run -u 1000:1000 x",
        "error code is 40001", "the zip code is 90210", "the status code is 404",
        "a key column12345 of a table", "git push -u origin main", "see machine learning",
        "the default password policy", "7 is your lucky number", "200 is your status",
        "Token count is 123456", "the secret is out", "password length is 12",
        "signature_algorithm=RS256", "password_changed_at: 2024-01-01", "and/or, his/her, 1/2",
    ]

    @Test("Text without a secret is shown unchanged", arguments: ordinary)
    func shows(text: String) throws {
        #expect(Redaction.standard.text(text) == text)
        #expect(Redaction.standard.text("(\(text))") == "(\(text))")
        let json = JSONValue.object(["message": .string(text), "id": 4711])
        let shown = Redaction.standard.content(json.data(), type: .json)
        #expect(shown == "\(json)")
        let field = try #require(HTTPHeaders([("X-Note", text)]).first)
        #expect(Redaction.standard.value(of: field) == text)
    }

    @Test("Text that is cut off shows nothing of a secret", arguments: hidden)
    func cut(text: String) {
        let data = Data("see \(text) there".utf8)
        for count in 0...data.count {
            let shown = Redaction.standard.content(
                data.prefix(count), type: .plainText, isCut: true)
            // What ends with an `@` may be a host.
            if text.contains("u:p@") { continue }
            #expect(!shown.contains("s3cr"), "\(shown)")
        }
    }
}
