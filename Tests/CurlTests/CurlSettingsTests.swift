// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeCurlStackFiles
import TurnpikeStackFiles
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite("The transport curl in stack files")
struct CurlSettingsTests {
    private var registry: Registry {
        var registry = Registry.standard
        registry.registerCurl()
        return registry
    }

    private func client(_ transport: JSONValue) throws -> ConfiguredClient {
        let file = try StackFile(["transport": transport, "stack": []])
        return try ConfiguredClient(file, registry: registry, serializers: .standard)
    }

    @Test("A file may name it, with all its settings")
    func settings() async throws {
        let server = try TestServer()
        server.route("http://origin.invalid/", .ok(text: "x"))
        let configured = try client([
            "use": "curl", "connectTimeout": 2, "maxConnectionsPerHost": 4,
            "idleConnectionTimeout": 10, "http2": false, "busyPolling": 0,
            "maxConnectionAge": 300, "dnsCacheTime": 0, "shuffleAddresses": true,
            "proxy": .string("http://me:secret@127.0.0.1:\(server.port)"),
            "trust": ["minimumTLS": "1.3"],
        ])
        #expect(try await configured.client.get("http://origin.invalid/").string() == "x")
        let transport = try #require(configured.client.transport as? CurlTransport)
        #expect(!transport.offersHTTP2)
        #expect(transport.configuration.maxConnectionAge == .seconds(300))
        #expect(transport.configuration.dnsCacheTime == .zero)
        #expect(transport.configuration.shufflesAddresses)
        #expect(transport.configuration.meter == nil)
    }

    @Test("A file names the meter of the pool, or where its figures are written")
    func metrics() async throws {
        let server = try TestServer()
        server.route("/", .ok(text: "x"))
        let store = MetricsStore()
        var registry = self.registry
        registry.register(meter: store, as: "service")
        let path = FileManager.default.temporaryDirectory.path + "/turnpike-\(UUID()).prom"
        defer { try? FileManager.default.removeItem(atPath: path) }
        for place in ["meter:service", path] {
            let file = try StackFile([
                "transport": ["use": "curl", "metrics": .string(place), "id": "pool"], "stack": [],
            ])
            let configured = try ConfiguredClient(
                file, registry: registry, serializers: .standard)
            _ = try await configured.client.get(server.target).string()
            await configured.client.shutdown()
        }
        #expect(store.sum("turnpike.connections.opened", ["turnpike.gate.id": "pool"]) == 1)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = text.split(separator: "\n")
        func all(_ name: String, end: String) -> Bool {
            let its = lines.filter { $0.contains(name + "{") }
            return !its.isEmpty
                && its.allSatisfy { $0.contains(#"turnpike_gate_id="pool""#) && $0.hasSuffix(end) }
        }
        #expect(all("connections_opened_total", end: " 1"))
        // An exchange that begins and ends within one turn of the loop is never told as active.
        #expect(all("open_connections", end: " 0"))
    }

    @Test(
        "HTTP/2 is automatic, on or off, by a word or a bool",
        arguments: [("\"on\"", true), ("true", true), ("\"off\"", false), ("false", false)])
    func http2(value: String, isOn: Bool) throws {
        let transport = try JSONValue(parsing: Data(#"{"use":"curl","http2":\#(value)}"#.utf8))
        #expect(
            try (client(transport).client.transport as? CurlTransport)?.offersHTTP2 == isOn)
        for automatic: JSONValue in [["use": "curl"], ["use": "curl", "http2": "automatic"]] {
            #expect(
                try (client(automatic).client.transport as? CurlTransport)?.offersHTTP2
                    == CurlTransport().offersHTTP2)
        }
    }

    @Test(
        "A mistake has its path",
        arguments: [
            (#"{"use":"curl","connectTimeout":0}"#, "transport.connectTimeout"),
            (#"{"use":"curl","proxy":"ftp://x"}"#, "transport.proxy"),
            (#"{"use":"curl","conectTimeout":1}"#, "transport.conectTimeout"),
            (#"{"use":"curl","http2":"yes"}"#, "transport.http2"),
            (#"{"use":"curl","http3":"on"}"#, "transport.http3"),
            (#"{"use":"curl","maxConnectionAge":0}"#, "transport.maxConnectionAge"),
            (#"{"use":"curl","dnsCacheTime":-1}"#, "transport.dnsCacheTime"),
            (#"{"use":"curl","metrics":"meter:none"}"#, "transport.metrics"),
            (#"{"use":"curl","metrics":"/nonexistent/x.prom"}"#, "transport.metrics"),
            (#"{"use":"curl","http2":2}"#, "transport.http2"),
            (#"{"use":"curl","trust":{"pins":["sha256/x"]}}"#, "transport.trust.pins[0]"),
            (#"{"use":"curl","trust":{"clientKey":"x"}}"#, "transport.trust.clientKey"),
            (#"{"use":"curl","trust":{"minimumTLS":"1.1"}}"#, "transport.trust.minimumTLS"),
            (#"{"use":"curl","trust":{"ca":"/nonexistent.pem"}}"#, "transport.trust.ca"),
            (
                #"{"use":"curl","trust":{"clientCertificate":"/nonexistent.pem"}}"#,
                "transport.trust.clientCertificate"
            ),
        ])
    func mistakes(text: String, place: String) throws {
        let transport = try JSONValue(parsing: Data(text.utf8))
        let error = #expect(throws: ClientError.self) { try client(transport) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(place + ":") == true, "\(error?.message ?? "")")
    }

    @Test(
        "A mistake says what was found and what is expected, and shows no password",
        arguments: [
            #"{"use":"curl","proxy":"ftp://u:S3CRET@x"}"#,
            #"{"use":"curl","trust":{"pins":["sha256/x"]}}"#,
            #"{"use":"curl","trust":{"clientKey":"\#(#filePath)"}}"#,
            #"{"use":"curl","trust":{"ca":"/nonexistent.pem"}}"#,
        ])
    func wording(text: String) throws {
        let transport = try JSONValue(parsing: Data(text.utf8))
        let message = #expect(throws: ClientError.self) { try client(transport) }?.message ?? ""
        #expect(message.contains(": found ") && message.contains("; expected "), "\(message)")
        #expect(!message.contains("S3CRET"))
    }

    @Test("Pins are sha256 and 32 bytes", arguments: ["sha256/", "sha256//"])
    func pins(prefix: String) throws {
        let hash = Data(repeating: 7, count: 32).base64EncodedString()
        // Of one hash in 64 the Base64 begins with a slash of its own.
        let other = Data([0xFF] + [UInt8](repeating: 7, count: 31)).base64EncodedString()
        #expect(other.hasPrefix("/"))
        #expect(try CurlTransport.PublicKeyPin(prefix + other).description == "sha256/" + other)
        #expect(try CurlTransport.PublicKeyPin(prefix + hash).description == "sha256/" + hash)
        expectError(.configuration) { try CurlTransport.PublicKeyPin("md5/" + hash) }
    }

    @Test("A proxy with an invalid host or port is refused, and its password is not shown")
    func invalidProxies() {
        for (host, port) in [
            ("proxy.example", 99999), ("proxy example", 8080), ("", 8080), ("a]b", 8080),
        ] {
            var proxy = CurlTransport.Proxy(host: host, port: port)
            (proxy.user, proxy.password) = ("user", "S3cret")
            var configuration = CurlTransport.Configuration()
            configuration.proxy = .through(proxy)
            let error = #expect(throws: ClientError.self) {
                try CurlTransport(configuration: configuration)
            }
            #expect(error?.code == .configuration)
            #expect(!"\(error as Any)".contains("S3cret"))
        }
    }

    @Test("A proxy may be an address with a zone, or an internationalized name")
    func unusualProxies() throws {
        for host in ["fe80::1%eth0", "::1", "bücher.example"] {
            var configuration = CurlTransport.Configuration()
            configuration.proxy = .through(.init(host: host, port: 8080))
            _ = try CurlTransport(configuration: configuration)
        }
    }

    @Test("A file that is only checked makes no transport")
    func check() async {
        // The count is that of a process.
        await #expect(processExitsWith: .success) {
            let file = try StackFile(["transport": ["use": "curl"], "stack": []])
            var registry = Registry.standard
            registry.registerCurl()
            for _ in 0..<20 { #expect(file.check(with: registry).isEmpty) }
            #expect(CurlHandles.live == 0)
        }
    }

    @Test("It says what it can do")
    func capabilities() throws {
        let capabilities = try CurlTransport().capabilities
        #expect(
            capabilities == [
                .liveUpload, .phaseTimes, .trailers, .requestTrailers, .encodedSizes, .upgrades,
                .connectTargets, .addressRules,
            ])
    }
}
