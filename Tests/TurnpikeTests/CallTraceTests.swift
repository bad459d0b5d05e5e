// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@Suite("What a user sees of a trace")
struct CallTraceTests {
    private struct Item: Decodable { let name: String }

    @Test("A traced call tells where its time went, attempt by attempt")
    func traced() async throws {
        let trace = try await Simulation(seed: 1).run { simulation async throws -> Trace? in
            let transport = MockTransport([
                .any(
                    .status(503).delayed(by: .milliseconds(300)),
                    .ok(json: ["name": "a"]).delayed(by: .milliseconds(20)))
            ])
            let client = Client(
                transport: transport,
                stack: [
                    .deadline(), .validate(),
                    .retry(backoff: Backoff(base: .seconds(1), jitter: .none)),
                ],
                timeSource: simulation.clock, randomSource: simulation.random)
            let call = client.get("https://a.example/items/1").traced()
            #expect(try await call.decode(Item.self).name == "a")
            return call.trace
        }
        let spans = try #require(trace?.spans)
        #expect(
            spans.filter { $0.kind != .phase && $0.kind != .body }.map(\.name) == [
                "GET /items/1", "Deadline", "Validate", "Retry", "attempt 1", "GET /items/1",
                "back-off", "attempt 2", "GET /items/1",
            ])
        #expect(spans.filter { $0.kind == .exchange }.map { $0.exchange?.status } == [503, 200])
        #expect(spans.first { $0.kind == .wait }?.duration == .seconds(1))
        #expect(spans[0].duration == .milliseconds(1320))
        let total = spans.compactMap { trace?.ownTime(of: $0) }.reduce(.zero, +)
        #expect(total == spans[0].duration)
    }

    @Test("A call that failed has its trace as well")
    func failed() async throws {
        let client = Client(
            transport: MockTransport([.any(.connectionRefused)]), stack: [.validate()])
        let call = client.get("https://a.example/").traced()
        await #expect(throws: ClientError.self) { try await call.data() }
        guard case .failed("connection", let text) = call.trace?.spans.first?.outcome else {
            Issue.record("the trace shows no failure")
            return
        }
        #expect(text.contains("https://a.example/"))
    }

    @Test("A client keeps the traces of calls that failed or were slow")
    func store() async throws {
        let traces = TraceStore(sampling: 0, slowerThan: .seconds(2))
        let clock = ManualClock()
        let transport = MockTransport { request in
            if request.url.path == "/slow" { clock.advance(by: .seconds(3)) }
            return request.url.path == "/missing" ? .status(404) : .ok()
        }
        let client = Client(
            transport: transport, stack: [.validate()], trace: traces, timeSource: clock)
        for path in ["fast", "slow", "missing"] {
            _ = try? await client.get(Target("https://a.example/" + path)).data()
        }
        #expect(traces.traces.map { $0.spans[0].name } == ["GET /slow", "GET /missing"])
        #expect(traces.traces.map { $0.spans[0].duration } == [.seconds(3), .zero])
    }

    @Test("A download is traced too, and so is a call that was started")
    func otherTerminals() async throws {
        let client = Client(transport: MockTransport { _ in .ok(text: "abc") }, stack: [])
        let call = client.get("https://a.example/file").traced()
        _ = try await call.start(.data).value
        #expect(call.trace?.isComplete == true)
        let first = call.trace?.id
        let folder = URL.temporaryDirectory.appending(path: "turnpike-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        _ = try await call.download(to: folder.appending(path: "file"))
        #expect(call.trace?.id != first)
        #expect(call.trace?.spans[1].exchange?.bytesReceived == 3)
    }
}
