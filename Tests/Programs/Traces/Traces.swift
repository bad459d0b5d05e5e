// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeInspection
import TurnpikeTesting
import TurnpikeTraffic

/// Records calls to a server of its own, and writes their traces in each form into a folder.
///
/// `turnpike-traces FOLDER`: `page.html`, `status.html`, `traces.har`, `traces.otlp.json`, `traces.json`,
/// `waterfall.txt` and `waterfall.svg`. It fails if one of them contains a planted secret.
@main
enum Traces {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            FileHandle.standardError.write(Data("usage: turnpike-traces FOLDER\n".utf8))
            exit(2)
        }
        let server = try TestServer()
        defer { server.stop() }
        script(server)
        let store = TraceStore()
        let retried = try await retry(server, store)
        try await hedge(server, store)
        try await queue(server, store)
        try await fail(server, store)
        let files =
            files(store.traces, retried) + [
                ("many.html", try await many()), ("status.html", status(server)),
            ]
        let folder = URL(filePath: CommandLine.arguments[1])
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, text) in files { try text.write(to: folder.appending(path: name)) }
        if retried == nil { print("a traced call has no trace") }
        let leaks = files.filter { String(decoding: $0.1, as: UTF8.self).contains("hunter") }
        for (name, _) in leaks { print("\(name) contains a secret") }
        if !leaks.isEmpty || retried == nil { exit(1) }
    }

    // Calls one after the other, each a small part of the whole time.
    private static func many() async throws -> Data {
        let store = TraceStore(sampling: 1)
        let transport = MockTransport { _ in .ok().delayed(by: .milliseconds(5)) }
        let client = Client(
            transport: transport, stack: [.validate()], trace: store)
        for number in 1...60 { try await client.get("http://a.example/\(number)").empty() }
        return Data(store.traces.html(title: "Many calls").utf8)
    }

    // A client whose calls fail for several reasons, one of which looks like markup.
    private static func status(_ server: TestServer) -> Data {
        let breaker = CircuitBreaker()
        for port in 1...30 {
            breaker.isolate(Origin(scheme: "http", host: "a.example", port: port), by: "Ann")
        }
        let name = "<img src=x onerror=\"document.title='broken'\"> token=hunter3"
        let client = Client(
            baseURL: "\(server.url)?api_key=hunter4", transport: MockTransport { _ in .ok() },
            stack: [
                .switched(by: Switch(share: 0, by: name), [.retry()]), breaker,
                .concurrencyLimit(), .attemptTimeout(.seconds(1)),
            ])
        return Data([ClientStatus(of: client)].html(title: "Status of a shop").utf8)
    }

    private static func files(_ traces: [Trace], _ retried: Trace?) -> [(String, Data)] {
        [
            ("page.html", Data(traces.html(title: "Calls of a shop").utf8)),
            ("traces.har", traces.har().data(pretty: true)),
            ("traces.otlp.json", traces.otlp(service: "shop").data()),
            ("traces.json", JSONValue.array(traces.map { $0.json() }).data()),
            ("waterfall.txt", Data((retried?.waterfall() ?? "").utf8)),
            ("waterfall.svg", Data((retried?.svg() ?? "").utf8)),
        ]
    }

    private static func script(_ server: TestServer) {
        server.route(
            "/users/1", TestAnswer.status(503).delayed(by: .milliseconds(80)),
            TestAnswer.drip(
                Data(repeating: 0x61, count: 24_576), bytes: 4_096, every: .milliseconds(12)
            ).delayed(by: .milliseconds(60)))
        server.route(
            "/stock", TestAnswer.ok(text: "late").delayed(by: .milliseconds(400)),
            TestAnswer.ok(text: "soon").delayed(by: .milliseconds(50)))
        server.route("/orders", TestAnswer.ok(text: "done").delayed(by: .milliseconds(70)))
        server.route("/old", .redirect(HTTPStatus(302), to: "/orders"))
        server.route("/gone", TestAnswer.raw(Data()))
        server.fallback(
            .ok(
                text: "hunter1",
                headers: [
                    "X-Name": "</script><img src=x onerror=\"document.title='broken'\">",
                    "Set-Cookie": "session=hunter2; Path=/",
                ]))
    }

    private static func client(
        _ server: TestServer, _ store: TraceStore, _ stack: Stack
    ) throws -> Client {
        Client(
            baseURL: server.target, transport: try CurlTransport(), stack: stack,
            trace: store)
    }

    // A 503, a wait, a response in pieces; and a redirect over the same connection.
    private static func retry(_ server: TestServer, _ store: TraceStore) async throws -> Trace? {
        let backoff = Backoff(base: .milliseconds(90), jitter: .none)
        let client = try client(
            server, store,
            [
                .deadline(.seconds(10)), .validate(), .redirect(), .retry(backoff: backoff),
                .limits(),
            ])
        let call = client.get("users/1").traced()
        _ = try await call.data()
        try await client.get("old").empty()
        await client.shutdown()
        return call.trace
    }

    private static func hedge(_ server: TestServer, _ store: TraceStore) async throws {
        let client = try client(
            server, store, [.deadline(.seconds(10)), .hedge(after: .milliseconds(60))])
        _ = try await client.get("stock").string()
        await client.shutdown()
    }

    // Three calls at once of which two wait in line.
    private static func queue(_ server: TestServer, _ store: TraceStore) async throws {
        let client = try client(
            server, store, [.concurrencyLimit(perOrigin: 1), .attemptTimeout(.seconds(5))])
        try await withThrowingTaskGroup { group in
            for number in 1...3 {
                group.addTask { try await client.get("orders?number=\(number)").empty() }
            }
            try await group.waitForAll()
        }
        await client.shutdown()
    }

    // A connection that breaks, and what a peer may try.
    private static func fail(_ server: TestServer, _ store: TraceStore) async throws {
        let client = try client(server, store, [.deadline(.seconds(10)), .validate()])
        try? await client.get("gone").empty()
        let name = "%3C/script%3E%3Cscript%3Edocument.title='broken'%3C/script%3E"
        try? await client.get(
            "\(name)?api_key=hunter3&q=%3Cimg%20src=x%20onerror=alert(1)%3E"
        ).header("Authorization", "Bearer hunter4").header("X-Api-Key", "hunter5")
            .header("X-Echo", "</script><script>document.title='broken'</script>").empty()
        await client.shutdown()
    }
}
