// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import Testing
import Turnpike
import TurnpikeLogging
import TurnpikeTesting

/// Compares the names and values of metadata with a table of OpenTelemetry's semantic conventions
/// (registry of attributes, version 1.37).
@Suite("Conventions of logs")
struct ConventionsTests {
    /// The names of the conventions, with patterns for their values.
    private static let table: [(name: String, values: String)] = [
        ("http.request.method", "[A-Z]+|_OTHER"),
        ("http.request.method_original", ".+"),
        ("http.request.resend_count", "[1-9][0-9]*"),
        ("http.response.status_code", "[1-9][0-9]{2}"),
        ("http.response.body.size", "[0-9]+"),
        // The name of a metric, in seconds. A small number may have an exponent, as in 9.6e-05.
        ("http.client.request.duration", "[0-9]+(\\.[0-9]+)?(e-[0-9]+)?"),
        ("server.address", "[^/:@]+"),
        ("server.port", "[0-9]+"),
        ("url.full", "https?://.*"),
        ("network.protocol.version", "1\\.[01]|2|3"),
        ("error.type", "[a-zA-Z_0-9]+"),
        ("exception.message", ".+"),
    ]
    private static let ownNames: Set = [
        "turnpike.call.id", "turnpike.attempt", "turnpike.retry.delay", "turnpike.body.end",
    ]

    @Test("Each name is one of the conventions or begins with turnpike, each value fits")
    func names() async throws {
        let journal = Journal(level: .trace)
        let transport = MockTransport([
            .any(
                .status(503), .connectionLost, .status(302, headers: ["Location": "/y"]),
                .stream([Data("x".utf8)], thenThrow: ClientError(.incomplete, "broke")),
                .ok(text: "abc"))
        ])
        let client = makeClient(
            transport, [LoggerSink(journal.logger), .redirect(), retrying])
        _ = try? await client.get("https://a.example/x?q=1").response().body.collect(upTo: 10)
        _ = try await client.request("PURGE", "http://b.example:8080/").data()
        _ = try await makeClient(Versioned(), [LoggerSink(journal.logger)]).get(anywhere).data()
        let patterns = Dictionary(uniqueKeysWithValues: Self.table.map { ($0.name, $0.values) })
        var seen: Set<String> = []
        for entry in journal.entries {
            for (name, value) in entry.metadata where !Self.ownNames.contains(name) {
                seen.insert(name)
                let pattern = try #require(patterns[name], "\(name) is not in the table")
                #expect(try Regex(pattern).wholeMatch(in: value.description) != nil, "\(name)")
            }
        }
        #expect(seen == Set(patterns.keys))
    }

    @Test("The values are those of the call")
    func values() async throws {
        let journal = Journal()
        let clock = ManualClock()
        let transport = MockTransport { _ in .ok(text: "abcd").delayed(by: .milliseconds(1500)) }
        let client = makeClient(
            transport,
            [
                LoggerSink(journal.logger, fields: ["X-Tenant", .contentType, "X-None"])
            ], clock: clock)
        let call = Task {
            try await client.get("https://a.example/x?q=1", headers: ["X-Tenant": "blue"]).string()
        }
        try await clock.waitForTimers(1)
        clock.advance(by: .milliseconds(1500))
        _ = try await call.value
        var metadata = try #require(journal.entries.first?.metadata)
        #expect(metadata.removeValue(forKey: "turnpike.call.id") != nil)
        #expect(
            metadata.mapValues(\.description) == [
                "http.request.method": "GET", "url.full": "https://a.example/x?q=1",
                "server.address": "a.example", "server.port": "443",
                "http.response.status_code": "200", "http.response.body.size": "4",
                "http.client.request.duration": "1.5", "turnpike.attempt": "1",
                "turnpike.body.end": "finished",
                "http.request.header.x-tenant": Self.list("blue"),
                "http.response.header.content-type": Self.list("text/plain; charset=utf-8"),
            ])
    }

    @Test("The size of a body is that before its coding was removed, where it is known")
    func encodedSize() async throws {
        let journal = Journal()
        let transport = MockTransport { _ in .ok(text: "abcd") }
        for size in [Int64?.some(2), nil] {
            let client = makeClient(transport, [LoggerSink(journal.logger), Coded(size: size)])
            #expect(try await client.get(anywhere).string() == "abcd")
        }
        #expect(journal.values("http.response.body.size") == ["2", "4"])
    }

    private static func list(_ value: String) -> String {
        Logger.MetadataValue.array([.string(value)]).description
    }

    @Test("A method that the conventions do not name is _OTHER, with its original beside it")
    func otherMethod() async throws {
        let journal = Journal()
        let client = makeClient(MockTransport { _ in .ok() }, [LoggerSink(journal.logger)])
        _ = try await client.request("PURGE", anywhere).data()
        #expect(journal.values("http.request.method") == ["_OTHER"])
        #expect(journal.values("http.request.method_original") == ["PURGE"])
    }

    @Test("Values are bounded and hold no control character, whatever a peer sends")
    func bounds() async throws {
        let journal = Journal(level: .trace)
        let long = String(repeating: "y", count: 100_000)
        let transport = MockTransport { _ in
            var headers: HTTPHeaders = [:]
            for _ in 0..<20 { headers.append("X-Long", long) }
            return .status(302, headers: headers)
        }
        let failure = ClientError(.protocol, "a\u{1B}[31m\n" + long)
        let failing = MockTransport { _ in .failure(failure) }
        for transport in [transport, failing] {
            let client = makeClient(transport, [LoggerSink(journal.logger, fields: ["X-Long"])])
            _ = try? await client.get("http://a.example/\(long)").data()
            _ = try? await client.request("G\r\nfake line", anywhere).string()
        }
        for entry in journal.entries {
            for (name, value) in entry.metadata {
                let text = value.description
                #expect(text.utf8.count < 40_000, "\(name)")
                #expect(!text.contains { $0.isNewline } && !text.contains("\u{1B}"), "\(name)")
            }
        }
    }
}
