// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import Testing
import Turnpike
import TurnpikeLogging
import TurnpikeTesting

@Suite("Secrets in logs")
struct SecretsTests {
    /// A gate that reports the token of a request, which no gate should do.
    private struct Talkative: Interceptor {
        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            let token = request.headers[.authorization]?.split(separator: " ").last ?? ""
            defer { context.report("sent \(token)", by: "Talkative") }
            return try await next(request)
        }
    }

    private static let planted = ["s3cret", "hunter2"]

    @Test("No secret of a request, a response, a note or an error is logged, at any level")
    func hidden() async throws {
        let journal = Journal(level: .trace)
        let setCookie: HTTPHeaders = [
            "Set-Cookie": "sid=s3cretsession; Path=/", "X-Api-Key": "s3cretkey",
            "Location": "http://user:hunter2@a.example/?access_token=s3crettoken",
        ]
        let transport = MockTransport([
            .any(
                .status(503, headers: setCookie), .status(302, headers: setCookie),
                .stream(
                    [Data("x".utf8)], headers: setCookie,
                    thenThrow: ClientError(.incomplete, "lost with s3cretauthvalue")),
                .failure(ClientError(.connection, "refused s3cretauthvalue")))
        ])
        let fields: [HTTPHeaders.Name] = [
            .authorization, .cookie, .setCookie, "X-Api-Key", .location, .referer,
        ]
        let client = makeClient(
            transport,
            [
                LoggerSink(journal.logger, fields: fields), .redirect(), retrying, Talkative(),
                LoggerSink(journal.logger, fields: fields),
            ])
        var call = client.get("http://user:hunter2@a.example/x?token=s3cretquery&sig=s3cretsig")
        call.request.headers[.authorization] = "Bearer s3cretauthvalue"
        call.request.headers[.cookie] = "sid=s3cretcookie"
        call.request.headers["X-Api-Key"] = "s3cretkey"
        call.request.headers[.referer] = "http://c.example/?password=hunter2"
        for _ in 0..<2 { _ = try? await call.response().body.collect(upTo: 100) }
        #expect(journal.entries.count > 20)
        for entry in journal.entries {
            let text = "\(entry.message) \(entry.metadata)"
            for secret in Self.planted { #expect(!text.contains(secret), "\(text)") }
            #expect(entry.error == nil, "an error could print what it likes")
        }
        #expect(journal.entries.contains { "\($0.metadata)".contains(Redaction.mark) })
    }

    @Test("Names can be added to the hidden ones")
    func moreNames() async throws {
        let journal = Journal(level: .trace)
        let sink = LoggerSink(
            journal.logger, fields: ["X-Tenant"],
            redaction: .standard.adding(headers: ["x-tenant"], query: ["user"]))
        let client = makeClient(MockTransport { _ in .ok() }, [sink])
        _ = try await client.get("http://a.example/?user=s3cret", headers: ["X-Tenant": "s3cret"])
            .data()
        #expect(journal.entries.allSatisfy { !"\($0.metadata)".contains("s3cret") })
        #expect(!journal.values("http.request.header.x-tenant").isEmpty)
    }
}
