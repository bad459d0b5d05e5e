// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

/// Plants a secret wherever one can be, and looks for it in all that can be printed.
@Suite("Secrets")
struct SecretsTests {
    private static let secret = "s3cret"

    private final class Heard: RequestLogger, MetricsRecorder {
        private let kept = Mutex<[String]>([])
        var texts: [String] { kept.withLock { $0 } }
        func log(_ event: CallEvent) { add(event) }
        func record(_ measurement: CallMeasurement) { add(measurement) }
        private func add(_ thing: Any) {
            let texts = SecretsTests.texts(of: thing)
            kept.withLock { $0 += texts }
        }
    }

    /// All ways in which a value is printed.
    private static func texts(of thing: Any) -> [String] {
        var dumped = ""
        dump(thing, to: &dumped)
        let error = (thing as? any Error)?.localizedDescription
        return ["\(thing)", String(reflecting: thing), dumped] + [error].compactMap(\.self)
    }

    private struct Case: CustomTestStringConvertible {
        let testDescription: String
        let call: @Sendable (Client) async throws -> Any

        init(_ name: String, _ call: @escaping @Sendable (Client) async throws -> Any) {
            testDescription = name
            self.call = call
        }
    }

    private static let cases = [
        Case("user information") { try await $0.get("http://u:s3cret@a.example/").response() },
        Case("query") { client in
            try await client.get(
                "http://a.example/?access_token=s3cret#id_token=s3cret",
                query: ["client_secret": "s3cret"]
            ).response()
        },
        Case("header fields") { client in
            try await client.get(
                "/",
                headers: [
                    "Authorization": "Bearer s3cret", "Proxy-Authorization": "s3cret",
                    "Cookie": "sid=s3cret", "X-Api-Key": "s3cret",
                    "Referer": "http://a.example/?sig=s3cret",
                ]
            ).response()
        },
        Case("a header's invalid value") { client in
            try await client.get("/", headers: ["Authorization": "s3cret\r\nX: y"]).response()
        },
        Case("an invalid method") { try await $0.request("GE T s3cret", "/").response() },
        Case("an invalid target") { try await $0.get("http://u:s3cret@[::z]/").response() },
        Case("an invalid port") { try await $0.get("http://u:s3cret@a.example:x/").response() },
        Case("a scheme that is not sent") { try await $0.get("ftp://u:s3cret@a/").response() },
        Case("a request body") { client in
            try await client.post("/", body: .text("password=s3cret")).response()
        },
        Case("a JSON body") { client in
            try await client.post("/", json: ["password": "s3cret"]).response()
        },
        Case("a base URL") { _ in
            let transport = MockTransport { _ in .status(500) }
            return try await Client(
                baseURL: "http://u:s3cret@a.example/", transport: transport, stack: .standard
            ).get("x").response()
        },
        Case("a URL that no stub answers") { client in
            let transport = MockTransport([.on(.get, "/other", .ok())])
            return try await Client(transport: transport, stack: .standard)
                .get("http://u:s3cret@a.example/?token=s3cret").response()
        },
        Case("content that is no JSON") { client in
            try await client.get("/ok", query: ["token": "s3cret"]).decode([Int].self)
        },
        Case("the call") { client in
            let call = client.get(
                "http://u:s3cret@a.example/?token=s3cret", headers: ["Cookie": "s3cret"])
            return [call, call.request, call.request.headers, call.request.options] as [Any]
        },
        Case("the client") { _ in
            Client(baseURL: "http://u:s3cret@a.example/?token=s3cret", stack: .standard)
        },
        Case("a target") { _ in
            let target = Target("http://u:s3cret@a.example/?token=s3cret")
            return [target, target.appending(["sig": "s3cret"])]
        },
        Case("a query") { _ in ["token": "s3cret", "q": "kept"] as Query },
    ]

    @Test("No secret is printed, whatever the call ends with", arguments: cases.sample(every: 2))
    private func planted(one: Case) async throws {
        let answers: [MockResponse] = [
            .status(
                302, headers: ["Location": "http://u:s3cret@b.example/?code=s3cret#token=s3cret"]),
            .status(
                500, headers: ["Set-Cookie": "sid=s3cret", "X-Auth-Token": "s3cret"],
                body: Data("{\"token\":\"s3cret\"}".utf8)),
            .failure(
                ClientError(
                    .connection, "lost",
                    underlying: URLError(
                        .networkConnectionLost,
                        userInfo: [
                            NSURLErrorFailingURLErrorKey: "http://u:s3cret@a.example/",
                            NSLocalizedDescriptionKey: "http://u:s3cret@a.example/?sig=s3cret",
                        ]))),
            .ok(text: "s3cret"),
        ]
        for answer in answers {
            let sink = MemoryLogSink()
            let heard = Heard()
            let transport = MockTransport([.any(answer, .ok(text: "s3cret"))])
            let client = Client(baseURL: "http://a.example/", transport: transport) {
                Log(to: sink, level: .debug)
                Log(to: sink, level: .debug, format: .json)
                heard
                Stack.standard
            }
            var texts: [String] = []
            do {
                texts += Self.texts(of: try await one.call(client))
            } catch {
                texts += Self.texts(of: error)
            }
            texts += sink.lines + heard.texts
            let leaks = texts.filter { $0.contains(Self.secret) }
            #expect(leaks.isEmpty, "\(leaks.prefix(2))")
        }
    }
}
