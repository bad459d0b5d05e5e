// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Log")
struct LogTests {
    private let sink = MemoryLogSink()

    @Test("A call is a line, with retries and redirects beside it")
    func lines() async throws {
        let transport = MockTransport([
            .any(.status(503), .status(302, headers: ["Location": "/y"]), .ok(text: "abc"))
        ])
        let client = Client(
            transport, [.log(to: sink), .redirect(), .retry(backoff: Backoff(base: .zero))])
        _ = try await client.get("http://a.example/x?token=s3cret").serialize(with: Text())
        #expect(sink.lines.count == 3)
        #expect(sink.lines[0].contains("attempt 2 in 0 s, because of 503"))
        #expect(sink.lines[1].contains("302 Found leads to GET http://a.example/y"))
        #expect(sink.lines[2].contains("200 OK, 3 bytes"))
    }

    @Test("Inside a retry it logs attempts")
    func attempts() async throws {
        let transport = MockTransport([.any(.connectionLost, .ok(text: "abc"))])
        let client = Client(transport, [.retry(backoff: Backoff(base: .zero)), .log(to: sink)])
        _ = try await client.get(anywhere).serialize(with: Text())
        #expect(sink.lines.count == 2)
        #expect(sink.lines[0].contains("! connection"))
        #expect(sink.lines[1].contains("200 OK"))
    }

    @Test("The end of a body is logged", arguments: ["drop", "fail", "cancel"])
    func ends(how: String) async throws {
        let clock = ManualClock()
        let answer: MockResponse =
            switch how {
            case "fail": .stream([Data("x".utf8)], thenThrow: ClientError(.incomplete, "broke"))
            case "cancel": .stream([Data("x".utf8)], every: .seconds(60))
            default: .ok(text: "x")
            }
        let client = Client(MockTransport { _ in answer }, clock: clock, [.log(to: sink)])
        switch how {
        case "drop": _ = try await client.get(anywhere).response()
        case "fail": _ = try? await client.get(anywhere).serialize(with: Text())
        default:
            let call = Task { try await client.get(anywhere).serialize(with: Text()) }
            try await clock.waitForTimers(1)
            call.cancel()
            _ = try? await call.value
        }
        let expected = [
            "drop": "not read to its end", "fail": "broken off: incomplete", "cancel": "cancelled",
        ]
        #expect(sink.lines.count == 1)
        #expect(sink.lines.first?.contains(expected[how] ?? "?") == true, "\(sink.lines)")
    }

    @Test("A shutdown that names its own error is a cancellation, which is no failure")
    func namedShutdown() async throws {
        let clock = ManualClock()
        let client = Client(
            MockTransport { _ in .ok().delayed(by: .seconds(60)) }, clock: clock,
            [.log(to: sink, level: .error)])
        let call = Task { try await client.get(anywhere).response() }
        try await clock.waitForTimers(1)
        await client.shutdown(
            grace: .zero, cancellingWith: ClientError(.cancelled, "the end"))
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.message == "the end")
        #expect(sink.lines.isEmpty, "\(sink.lines)")
    }

    @Test("So is a body that ends with such an error")
    func namedEnd() async throws {
        let answer = MockResponse.stream(
            [Data("x".utf8)], thenThrow: ClientError(.cancelled, "the end"))
        let client = Client(
            MockTransport { _ in answer }, clock: ManualClock(), [.log(to: sink, level: .error)])
        await expectError(.cancelled) {
            try await client.get(anywhere).serialize(with: Text())
        }
        #expect(sink.lines.isEmpty, "\(sink.lines)")
    }

    @Test("A line cannot be forged")
    func forging() async throws {
        let transport = MockTransport { _ in .failure(ClientError(.protocol, "odd")) }
        let client = Client(transport, [.log(to: sink)])
        _ = try? await client.request("G\r\nfake line", anywhere).response()
        #expect(sink.lines.count == 1)
        #expect(sink.lines.allSatisfy { !$0.contains { $0.isNewline } })
    }

    @Test("A sink in memory keeps the latest lines, or none")
    func memory() {
        let small = MemoryLogSink(capacity: 2)
        let none = MemoryLogSink(capacity: 0)
        for line in ["a", "b", "c"] {
            small.write(line)
            none.write(line)
        }
        #expect(small.lines == ["b", "c"])
        #expect(none.lines == [])
    }

    @Test("Names can be added to the hidden ones")
    func moreNames() async throws {
        let client = Client(
            MockTransport { _ in .ok() },
            [
                .log(
                    to: sink, level: .debug,
                    redaction: .standard.adding(headers: ["x-tenant"], query: ["user"]))
            ])
        _ = try await client.get("http://a.example/?user=s3cret", headers: ["X-Tenant": "s3cret"])
            .response()
        #expect(sink.lines.allSatisfy { !$0.contains("s3cret") })
    }

    @Test("Each level writes its events", arguments: Log.Level.allCases)
    func levels(level: Log.Level) async throws {
        let transport = MockTransport([
            .any(.status(503), .status(302, headers: ["Location": "/y"]), .ok(text: "abc"))
        ])
        let client = Client(
            transport,
            [
                .log(to: sink, level: level, format: .json), .redirect(),
                .retry(backoff: Backoff(base: .zero)),
            ])
        _ = try await client.get(anywhere).serialize(with: Text())
        let events = try sink.lines.map { try JSONValue(parsing: Data($0.utf8))["event"]?.string }
        let expected: [Log.Level: [String]] = [
            .error: [],
            .info: ["retrying", "redirecting", "ended"],
            .debug: [
                "began", "sent", "received", "retrying", "sent", "received", "redirecting", "sent",
                "received", "responded", "ended",
            ],
        ]
        #expect(events == expected[level])
        let failing = Client(
            MockTransport { _ in .status(404) }, [.log(to: sink, level: level, format: .json)])
        _ = try await failing.get(anywhere).response().body.collect(upTo: 10)
        #expect(sink.lines.last?.contains("\"level\":\"error\"") == true)
    }

    @Test("A JSON line has all figures and texts")
    func json() async throws {
        let clock = ManualClock()
        let transport = MockTransport { _ in
            .status(200, headers: ["X-A": "b \"c\" | d"], body: Data("{\"password\":1}\n".utf8))
                .delayed(by: .milliseconds(1500))
        }
        let client = Client(
            transport, clock: clock, [.log(to: sink, level: .debug, format: .json, peekBytes: 100)])
        let running = Task {
            try await client.post("http://a.example/x?sig=s3cret&q=1", body: .json(["a": 1]))
                .response().body.collect(upTo: 100)
        }
        try await clock.waitForTimers(1)
        clock.advance(by: .milliseconds(1500))
        _ = try await running.value
        let records = try sink.lines.map { try JSONValue(parsing: Data($0.utf8)) }
        #expect(records.count == 5)
        #expect(Set(records.map { $0["call"]?.string }).count == 1)
        #expect(records[1]["content"]?.string == "{\"a\":1}")
        #expect(records[2]["headers"]?[0]?[0] == "X-A")
        #expect(records[2]["headers"]?[0]?[1] == "b \"c\" | d")
        let last = try #require(records.last)
        #expect(last["method"] == "POST")
        #expect(last["url"] == "http://a.example/x?sig=REDACTED&q=1")
        #expect(last["status"] == 200)
        #expect(last["bytes"] == 15)
        #expect(last["elapsed"]?.double == 1.5)
        #expect(last["end"] == "finished")
        #expect(last["attempt"] == 1)
    }

    @Test("Sampling writes complete calls, and every failure")
    func sampling() async throws {
        let transport = MockTransport { request in
            request.url.path() == "/fails" ? .failure(ClientError(.connection, "lost")) : .ok()
        }
        func lines(_ sampling: Double, _ seed: UInt64) async -> [String] {
            let sink = MemoryLogSink()
            let client = Client(
                transport, seed: seed,
                [.log(to: sink, level: .debug, format: .json, sampling: sampling)])
            for index in 0..<300 {
                let path = index % 10 == 0 ? "fails" : "x"
                _ = try? await client.get("http://a.example/\(path)").response()
            }
            return sink.lines
        }
        #expect(await lines(1, 1).count == 270 * 5 + 30 * 3)
        let none = await lines(0, 1)
        #expect(none.count == 30)
        #expect(none.allSatisfy { $0.contains("\"event\":\"failed\"") })
        let some = await lines(0.3, 1)
        let calls = some.filter { $0.contains("\"event\":\"ended\"") }.count
        #expect((40...125).contains(calls))
        #expect(some.filter { $0.contains("\"event\":\"responded\"") }.count == calls)
        #expect(some.filter { $0.contains("\"event\":\"failed\"") }.count == 30)
    }

    @Test("Sampling does not change the call's random numbers")
    func samplingIsAside() async throws {
        func key(_ stack: Stack) async throws -> String? {
            let transport = MockTransport { _ in .ok() }
            _ = try await Client(transport, seed: 3, stack).post(anywhere).response()
            return transport.sent.first?.request.headers[.idempotencyKey]
        }
        let plain = try await key([.idempotencyKey()])
        #expect(try await key([.log(to: sink, sampling: 0.5), .idempotencyKey()]) == plain)
    }

    @Test("The length of a line is bounded, whatever a peer sends", arguments: Log.Format.allCases)
    func bounded(format: Log.Format) async throws {
        let long = String(repeating: "ü", count: 100_000)
        var headers: HTTPHeaders = ["X-Long": long]
        for index in 0..<5000 { headers.append(HTTPHeaders.Name("X-\(index)"), "value") }
        let answer = MockResponse.status(200, headers: headers, body: Data(long.utf8))
        let client = Client(
            MockTransport { _ in answer },
            [.log(to: sink, level: .debug, format: format, peekBytes: 100)])
        _ = try await client.get("http://a.example/?\(String(repeating: "q", count: 50_000))")
            .serialize(with: Text())
        #expect(sink.lines.count == 5)
        #expect(sink.lines.allSatisfy { $0.utf8.count < 64_000 })
        #expect(sink.lines[2].contains("fields"))
    }

    @Test("The log's peek reads no more than the reader pulls")
    func peek() async throws {
        let chunks = (0..<5).map { Data("chunk \($0) ".utf8) }
        let answer = MockResponse.stream(chunks)
        let client = Client(MockTransport { _ in answer }, [.log(to: sink, peekBytes: 1000)])
        let response = try await client.get(anywhere).response()
        var reader: ResponseBody.AsyncIterator? = response.body.makeAsyncIterator()
        _ = try await reader?.next()
        #expect(sink.lines.isEmpty)
        reader = nil
        #expect(sink.lines.count == 1)
        #expect(sink.lines[0].contains("8 bytes, not read to its end"))
    }
}
