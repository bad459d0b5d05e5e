// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import Testing
import Turnpike
import TurnpikeLogging
import TurnpikeTesting

@Suite("LoggerSink")
struct LoggerSinkTests {
    private let journal = Journal()

    private var sink: LoggerSink { LoggerSink(journal.logger) }

    @Test("A call is one entry, with its retries and redirects beside it")
    func call() async throws {
        let transport = MockTransport([
            .any(.status(503), .status(302, headers: ["Location": "/y"]), .ok(text: "abc"))
        ])
        let client = makeClient(transport, [.log(to: sink), .redirect(), retrying])
        _ = try await client.get("http://a.example/x").data()
        #expect(
            journal.lines == [
                "info: HTTP request will be retried", "info: HTTP redirect will be followed",
                "info: HTTP request completed",
            ])
        let last = try #require(journal.entries.last?.metadata)
        #expect(last["http.request.resend_count"]?.description == "2")
        #expect(last["url.full"]?.description == "http://a.example/x")
        #expect(journal.entries[0].metadata["turnpike.attempt"]?.description == "2")
        #expect(journal.entries[0].metadata["error.type"]?.description == "503")
        #expect(journal.entries[1].metadata["url.full"]?.description == "http://a.example/y")
    }

    @Test("Inside a retry, each attempt is an entry")
    func attempts() async throws {
        let transport = MockTransport([.any(.connectionLost, .ok(text: "abc"))])
        let client = makeClient(transport, [retrying, .log(to: sink)])
        _ = try await client.get(anywhere).data()
        #expect(
            journal.lines == ["error: HTTP request failed", "info: HTTP request completed"])
        #expect(journal.values("turnpike.attempt") == ["1", "2"])
        #expect(journal.values("error.type") == ["connection"])
    }

    @Test("Each outcome is one entry", arguments: Ending.all)
    func outcome(ending: Ending) async throws {
        let clock = ManualClock()
        let client = makeClient(
            MockTransport { _ in ending.answer }, [.log(to: sink)], clock: clock)
        switch ending.how {
        case .read: _ = try? await client.get(anywhere).data()
        case .dropped: _ = try await client.get(anywhere).response()
        case .cancelled:
            let call = Task { try await client.get(anywhere).data() }
            try await clock.waitForTimers(1)
            call.cancel()
            _ = try? await call.value
        }
        #expect(journal.lines == [ending.line])
        #expect(journal.values("error.type") == (ending.error.map { [$0] } ?? []))
        #expect(journal.values("turnpike.body.end") == (ending.end.map { [$0] } ?? []))
    }

    @Test("A shutdown that names its own error is a cancellation, which is no failure")
    func namedShutdown() async throws {
        let clock = ManualClock()
        let client = makeClient(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, [.log(to: sink)], clock: clock)
        let call = Task { try await client.get(anywhere).data() }
        try await clock.waitForTimers(1)
        await client.shutdown(
            grace: .zero, cancellingWith: ClientError(.cancelled, "the end"))
        _ = try? await call.value
        #expect(journal.lines == ["info: HTTP request cancelled"])
        #expect(journal.values("error.type") == ["cancelled"])
    }

    @Test("The level of the logger decides which events are logged")
    func levels() async throws {
        let all = Journal(level: .trace)
        let client = makeClient(
            MockTransport { _ in .ok(text: "abc") }, [.log(to: LoggerSink(all.logger))])
        _ = try await client.get(anywhere).data()
        #expect(
            all.lines == [
                "trace: HTTP request started", "debug: HTTP request sent",
                "debug: HTTP response received", "trace: HTTP response returned",
                "info: HTTP request completed",
            ])
        let none = Journal(level: .critical)
        let silent = makeClient(
            MockTransport { _ in .status(500) }, [.log(to: LoggerSink(none.logger))])
        _ = try await silent.get(anywhere).data()
        #expect(none.lines == [])
    }

    @Test("The mapping to levels can be replaced, and can leave events out")
    func mapping() async throws {
        let sink = LoggerSink(journal.logger) { event in
            if event.status == 404 { return nil }
            let level = LoggerSink.level(of: event)
            return level == .error ? .critical : level
        }
        let transport = MockTransport([.any(.status(404), .status(500), .status(403))])
        let client = makeClient(transport, [sink])
        for _ in 0..<3 { _ = try await client.get(anywhere).data() }
        #expect(
            journal.lines == [
                "critical: HTTP request completed", "warning: HTTP request completed",
            ])
    }

    @Test("A status that a gate rejects has the level of the status")
    func rejected() async throws {
        let transport = MockTransport([.any(.status(404), .status(500))])
        let client = makeClient(transport, [sink, .validate()])
        for _ in 0..<2 { _ = try? await client.get(anywhere).data() }
        #expect(journal.lines == ["warning: HTTP request failed", "error: HTTP request failed"])
        #expect(journal.values("error.type") == ["validation", "validation"])
        #expect(journal.values("http.response.status_code") == ["404", "500"])
    }

    @Test("A note of a gate is an entry")
    func note() async throws {
        struct Noting: SynchronousRequestAdapter {
            func adapt(_ request: inout Request, context: Context) {
                context.report("the region is north", by: "Noting")
            }
        }
        let client = makeClient(MockTransport { _ in .ok() }, [sink, Noting()])
        _ = try await client.get(anywhere).data()
        #expect(journal.lines.first == "info: HTTP client note")
        #expect(journal.values("turnpike.gate") == ["Noting"])
        #expect(journal.values("turnpike.note") == ["the region is north"])
    }

    @Test("What it states as a gate")
    func facts() throws {
        let facts = try #require(sink.facts(for: nil))
        #expect(facts.effects.contains { if case .logs(content: 0) = $0 { true } else { false } })
    }
}

/// An end of a call, and the log entry for this end.
struct Ending: Sendable, CustomTestStringConvertible {
    enum How { case read, dropped, cancelled }

    let how: How
    let answer: MockResponse
    let line: String
    var error: String?
    var end: String?

    var testDescription: String { "\(how), \(error ?? "no error"), \(end ?? "no body")" }

    private static let broken = MockResponse.stream(
        [Data("x".utf8)], thenThrow: ClientError(.incomplete, "broke"))
    private static let slow = MockResponse.stream([Data("x".utf8)], every: .seconds(60))
    private static let late = MockResponse.ok().delayed(by: .seconds(60))

    static let all = [
        Ending(
            how: .read, answer: .ok(text: "x"), line: "info: HTTP request completed",
            end: "finished"),
        Ending(
            how: .read, answer: .status(404), line: "warning: HTTP request completed",
            error: "404", end: "finished"),
        Ending(
            how: .read, answer: .status(500), line: "error: HTTP request completed", error: "500",
            end: "finished"),
        Ending(
            how: .read, answer: .connectionLost, line: "error: HTTP request failed",
            error: "connection"),
        Ending(
            how: .read, answer: broken, line: "error: HTTP request failed", error: "incomplete",
            end: "failed"),
        Ending(
            how: .dropped, answer: .ok(text: "x"), line: "info: HTTP request completed",
            end: "dropped"),
        Ending(
            how: .cancelled, answer: late, line: "info: HTTP request cancelled",
            error: "cancelled"),
        Ending(
            how: .cancelled, answer: slow, line: "info: HTTP request cancelled", end: "cancelled"),
    ]
}
