// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeInspection
import TurnpikeStackFiles
import TurnpikeTesting
import TurnpikeTraffic
import TurnpikeTrafficStackFiles

@Suite("Logs, metrics and traces")
struct LogsMetricsAndTracesExamples {
    private struct User: Decodable { let name: String }

    private func client(_ answers: MockResponse...) -> Client {
        Client(
            baseURL: "https://api.example.com/",
            transport: MockTransport([MockStub(answers) { _ in true }]),
            stack: [.validate(), .retry(backoff: Backoff(base: .zero))])
    }

    @Test("A stack may have watchers of calls and of attempts")
    func watchers() {
        let store = MetricsStore()
        let client = Client(
            baseURL: "https://api.example.com/",
            stack: [
                .log(to: .standardError),  // a line for each call, with its retries
                .requestID(), .idempotencyKey(),  // one value for all attempts
                .deadline(), .validate(), .redirect(), .retry(),
                .traceContext(),  // a span for each attempt
                .metrics(store),  // http.client.request.duration is of attempts
                .attemptTimeout(),
            ])
        #expect(client.fault == nil)
    }

    @Test("Gates share a meter")
    func meter() {
        let store = MetricsStore()
        let budget = RetryBudget(meter: store)
        let client = Client(
            baseURL: "https://api.example.com/",
            stack: [
                .retry(budget: budget), .circuitBreaker(meter: store),
                .concurrencyLimit(meter: store), .metrics(store),
            ])
        #expect(client.fault == nil)
    }

    @Test("A call that fails has its trace as well", arguments: [true, false])
    func trace(fails: Bool) async throws {
        let client = fails ? client(.status(404)) : client(.ok(json: ["name": "a"]))
        var printed: [String] = []
        func print(_ name: String, _ start: Duration, _ duration: Duration) { printed.append(name) }
        var user: User?
        let call = client.get("users/1").traced()
        do {
            user = try await call.decode(User.self)
        } catch {
            for span in call.trace?.spans ?? [] {  // a call that fails has its trace as well
                print(span.name, span.start, span.duration ?? .zero)
            }
        }
        #expect(user?.name == (fails ? nil : "a"))
        #expect(printed.prefix(2) == (fails ? ["GET /users/1", "Validate"] : []))
    }

    @Test("A client keeps the traces that are worth it")
    func store() {
        var reported = 0
        func report(_ trace: Trace) { reported += 1 }
        let traces = TraceStore(sampling: 0.01, slowerThan: .seconds(2))
        let client = Client(baseURL: "https://api.example.com/", trace: traces)
        for trace in traces.traces where trace.isComplete { report(trace) }
        #expect(reported == 0 && client.fault == nil)
    }

    private actor Entries {
        func entry(for key: String) -> String? { nil }
    }

    private struct LookUp: Interceptor {
        let store = Entries()

        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            let key = request.url.path()
            let entry = await context.report(waitingFor: "look in the cache") { _ in
                await store.entry(for: key)
            }
            if let entry {
                return Response(to: request, status: 200, body: ResponseBody(Data(entry.utf8)))
            }
            return try await next(request)
        }
    }

    @Test("A gate names what it waits for")
    func waiting() async throws {
        let client = Client(transport: MockTransport { _ in .ok() }, stack: [LookUp()])
        let call = client.get("https://a.example/").traced()
        _ = try await call.data()
        #expect(call.trace?.spans[2].name == "look in the cache")
    }

    @Test("A stack file names a meter of the program")
    func registeredMeter() async throws {
        let recorder = MetricsStore()
        var registry = Registry.standard
        registry.registerTraffic()
        registry.register(meter: recorder, as: "service")
        let file = try StackFile(
            parsing: Data(
                """
                {"transport": {"use": "mock"},
                 "stack": [{"use": "concurrencyLimit", "metrics": "meter:service"}]}
                """.utf8))
        let client = try ConfiguredClient(file, registry: registry, serializers: .standard)
            .client
        _ = try await client.get("http://a.example/").data()
        #expect(recorder.prometheusText.contains("concurrency_limit"))
    }
}
