// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeInspection

@Suite("Secrets in traces")
struct TraceSecretsTests {
    private struct Leaky: Error { let text: String }

    private struct Again: RequestRetrier {
        func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
            outcome.attempts < 2 ? .retry(after: .zero) : .stop
        }
    }

    private static let answers: [MockResponse] = [
        .status(
            302,
            headers: [
                "Location": "http://u:s3cret@a.example/y?access_token=s3cret#id_token=s3cret"
            ]),
        .status(
            503, headers: ["Set-Cookie": "sid=s3cret-cookie-1", "X-Api-Key": "s3cret-key-123"]),
        // What the request or another response said, elsewhere.
        .status(
            200,
            headers: [
                "X-Echo": "got Bearer s3cret-token", "X-Seen": "s3cret-cookie-1, s3cret-key-123",
                "X-Form": "s3cret-in-form",
            ]),
        .failure(
            ClientError(
                .connection, "lost",
                underlying: URLError(
                    .unknown,
                    userInfo: [
                        NSLocalizedDescriptionKey:
                            "no answer from http://u:s3cret@a.example/?sig=s3cret"
                    ]))),
        .failure(Leaky(text: "while sending s3cret-token of s3cret-in-form")),
        .failure(ClientError(.protocol, "a bad head after s3cret-key-123 and token=s3cret")),
        .stream([Data("s3cr".utf8)], thenThrow: Leaky(text: "s3cret-token broke it off")),
    ]

    @Test(
        "No secret is in a trace, nor in one of a call that is under way",
        arguments: answers.indices, answers.indices)
    func planted(first: Int, second: Int) async throws {
        let store = TraceStore()
        let client = Client(
            transport: MockTransport([.any(Self.answers[first], Self.answers[second])]),
            stack: [
                Again(),
                Around { request, context, next in
                    try await context.report(waitingFor: "token=s3cret") {
                        try await next(request, context: $0)
                    }
                },
            ], serializers: SerializerTable(), trace: store, timeSource: ManualClock())
        let call = client.post(
            "http://user:s3cret@a.example/x;token=s3cret?api_key=s3cret&q=kept",
            body: .data(Data("q=kept&client_secret=s3cret-in-form".utf8), type: .form),
            headers: [
                "Cookie": "sid=s3cret-cookie-0", "Proxy-Authorization": "Basic s3cret",
                "Authorization": "Bearer s3cret-token", "X-Api-Key": "s3cret", "X-Kept": "kept",
            ]
        ).retryable().traced()
        var traces: [Trace?] = []
        do {
            let response = try await call.response()
            traces.append(call.trace)
            _ = try await response.body.collect(upTo: 1000)
        } catch {}
        traces += [call.trace] + store.traces
        for trace in traces {
            let trace = try #require(trace)
            var text = ""
            dump(trace, to: &text)
            #expect(!text.contains("s3cr"), "\(text)")
            #expect(text.contains("kept"))
            #expect(trace.spans.count { $0.kind == .exchange } == 2)
        }
    }

    @Test("Names of one's own are hidden, by those of the store and those of the call")
    func added() async throws {
        let store = TraceStore(redaction: .standard.adding(headers: ["X-Of-Store"]))
        let client = Client(
            transport: MockTransport { _ in .ok() }, stack: Stack(),
            serializers: SerializerTable(), trace: store, timeSource: ManualClock())
        let call = client.get(
            anywhere, headers: ["X-Of-Store": "plain", "X-Of-Call": "plain", "X-Kept": "plain"]
        ).traced(redaction: .standard.adding(headers: ["X-Of-Call"]))
        _ = try await call.response()
        for trace in [call.trace, store.traces.first] {
            let headers = try #require(trace?.spans[1].exchange?.requestHeaders)
            #expect(headers["X-Of-Store"] == "REDACTED")
            #expect(headers["X-Of-Call"] == "REDACTED")
            #expect(headers["X-Kept"] == "plain")
        }
    }
}
