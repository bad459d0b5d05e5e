// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryTracing
import Testing
import Tracing
import Turnpike
import TurnpikeTesting
import TurnpikeTracing

@Suite("Secrets in spans", .timeLimit(.minutes(5)))
struct SecretsTests {
    /// A gate that reports the token of a request, which no gate should do.
    private struct Talkative: Interceptor {
        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            let token = request.headers[.authorization]?.split(separator: " ").last ?? ""
            defer { context.report("sent \(token)", by: "Talkative") }
            return try await next(request)
        }
    }

    private struct Leaky: Error, CustomStringConvertible {
        let description: String
    }

    private func send(_ answer: MockResponse) async -> [FinishedInMemorySpan] {
        let traced = Traced(MockTransport { _ in answer }, [Talkative()])
        var call = traced.client.get("http://user:hunter2@a.example/x?token=s3cretquery")
        call.request.headers[.authorization] = "Bearer s3cretauthvalue"
        call.request.headers["X-Api-Key"] = "s3cretkey"
        _ = try? await call.response().body.collect(upTo: 100)
        #expect(traced.tracer.activeSpans.isEmpty)
        return traced.calls + traced.attempts
    }

    private static let answers: [(String, MockResponse)] = [
        ("client error", .failure(ClientError(.connection, "refused s3cretauthvalue s3cretkey"))),
        ("other error", .failure(Leaky(description: "refused s3cretauthvalue s3cretkey"))),
        (
            "body",
            .stream(
                [Data("x".utf8)], headers: ["Set-Cookie": "sid=s3cretsession; Path=/"],
                thenThrow: ClientError(.incomplete, "lost s3cretauthvalue s3cretsession"))
        ),
    ]

    @Test("No secret of a request, a response, a note or an error is in a span")
    func hidden() async {
        for (name, answer) in Self.answers {
            let spans = await send(answer)
            #expect(spans.count == 2)
            for span in spans {
                let events = span.events.map { "\($0.name) \($0.attributes.texts)" }
                let text = "\(span.texts) \(events) \(span.status?.message ?? "")"
                #expect(!text.contains("s3cret") && !text.contains("hunter2"), "\(name): \(text)")
                #expect(span.status?.message?.contains(Redaction.mark) == true, "\(name)")
            }
            #expect(spans.first?.events.map(\.name) == ["turnpike.note"])
        }
    }
}
