// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// A way to log, and content types in which secrets are planted.
struct LogForm: Sendable, CustomTestStringConvertible {
    let level: Log.Level
    let format: Log.Format
    let content: String

    var testDescription: String { "\(level.rawValue), \(format.rawValue), \(content)" }

    static let all = Log.Level.allCases.flatMap { level in
        Log.Format.allCases.flatMap { format in
            ["json", "form", "text"].map { LogForm(level: level, format: format, content: $0) }
        }
    }

    var body: RequestBody {
        switch content {
        case "json":
            .data(
                Data(
                    #"{"p\u0061ssword": "s3cret", "kept": [{"api_key": {"a": ["s3cret"]}}]}"#.utf8),
                type: .json)
        case "form":
            .data(Data("q=kept&pass%77ord=s3cret&client_secret=s3cret".utf8), type: .form)
        default: .text("see http://u:s3cret@a.example/?sig=s3cret\nand\thttp://b/?token=s3cret")
        }
    }
}

@Suite("Secrets in logs")
struct SecretsInLogsTests {
    private let sink = MemoryLogSink()

    private var answers: [MockResponse] {
        let echo = "http://u:s3cret@a.example/?sig=s3cret"
        return [
            .status(
                302,
                headers: [
                    "Location": "http://u:s3cret@a.example/y?access_token=s3cret#id_token=s3cret"
                ]),
            .status(
                503, headers: ["Set-Cookie": "sid=s3cret", "X-Api-Key": "s3cret"],
                body: Data("s3cret".utf8)),
            .failure(
                ClientError(
                    .connection, "lost",
                    underlying: URLError(
                        .unknown,
                        userInfo: [NSLocalizedDescriptionKey: "no answer from \(echo)"]))),
            .failure(Leaky(text: "while sending Bearer s3cret-token")),
            .status(
                401,
                headers: ["Authentication-Info": "s3cret", "Content-Type": "application/json"],
                body: Data(#"{"password":"s3cret","echo":"Bearer s3cret-token"}"#.utf8)),
            .status(
                200, headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: Data("refresh_token=s3cret&q=kept".utf8)),
            .stream(
                [Data("s3cr".utf8), Data("et".utf8)], thenThrow: ClientError(.incomplete, "x")),
        ]
    }

    private struct Leaky: Error { let text: String }

    @Test("No secret is in a line, an error, a description or a label", arguments: LogForm.all)
    func secrets(form: LogForm) async throws {
        let store = MetricsStore()
        var texts: [String] = []
        for answer in answers {
            let transport = MockTransport([.any(answer, .ok(text: "fine"))])
            let client = Client(
                transport,
                [
                    .log(to: sink, level: form.level, format: form.format, peekBytes: 4096),
                    .metrics(store), .validate(), .redirect(),
                    .retry(attempts: 2, backoff: Backoff(base: .zero)),
                    .log(to: sink, level: form.level, format: form.format, peekBytes: 4096),
                ])
            let call = client.post(
                "http://user:s3cret@a.example/x?api_key=s3cret&q=kept", body: form.body,
                headers: [
                    "Cookie": "sid=s3cret", "Proxy-Authorization": "Basic s3cret",
                    "Authorization": "Bearer s3cret-token", "X-Api-Key": "s3cret",
                    "X-Session-Token": "s3cret", "X-Kept": "kept",
                ]
            ).retryable()
            texts.append(call.request.curlCommand())
            do {
                let response = try await call.response()
                texts += ["\(response)", String(reflecting: response), "\(response.headers)"]
                _ = try await response.body.collect(upTo: 1000)
            } catch let error as ClientError {
                var dumped = ""
                dump(error, to: &dumped)
                texts += [
                    "\(error)", String(reflecting: error), dumped, error.localizedDescription,
                ]
            } catch {}
        }
        texts += sink.lines + store.series.keys.map { "\($0)" } + [store.prometheusText]
        let leaks = texts.filter { $0.contains("s3cr") }
        #expect(leaks.isEmpty, "\(leaks)")
        #expect(sink.lines.contains { $0.contains("kept") })
        #expect(sink.lines.allSatisfy { !$0.contains { $0.isNewline } })
    }

    @Test("A secret that a server repeats is hidden, whatever mark is next to it")
    func repeated() async throws {
        let echo = "\u{301}pl4nted-e\u{301}, pl4nted-\u{E9}\u{200D} pl4nted-two\u{301}"
        let client = Client(
            MockTransport { _ in .ok(text: echo) },
            [.log(to: sink, level: .debug, peekBytes: 4096)])
        let response = try await client.get(
            anywhere,
            headers: [
                "X-Api-Key": "pl4nted-e\u{301}", "X-Token": "pl4nted-\u{E9}",
                "Authorization": "Bearer pl4nted-two",
            ]
        ).response()
        _ = try await response.body.collect(upTo: 1000)
        let lines = Data(sink.lines.joined(separator: "\n").utf8)
        #expect(lines.range(of: Data("REDACTED".utf8)) != nil)
        #expect(lines.range(of: Data("pl4nted".utf8)) == nil, "\(sink.lines)")
    }
}
