// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCore

/// The requirements for every transport, checked over real sockets with a ``TestServer``.
///
/// ```swift
/// @Test(arguments: TransportConformance.checks)
/// func conforms(_ check: TransportConformance.Check) async throws {
///     try await check.run(on: MyTransport())
/// }
/// ```
///
/// Each check gets a separate transport and shuts down the transport. The checks use plain HTTP/1.1
/// on 127.0.0.1. TLS and later HTTP versions need other tests. A transport that sends nothing to
/// this address must forward the checks' requests to another transport.
public enum TransportConformance {
    /// One check of a transport.
    public typealias Check = ConformanceCheck<any Transport>

    /// All checks.
    public static var checks: [Check] {
        messages + bodies + interleaved + ends + faults + life + connections + upgrades
    }

    /// The environment of a check, with a server and a client without gates over the transport.
    struct Road: Sendable {
        let server: TestServer
        let client: Client
        let transport: any Transport

        func get(_ path: Target) -> Call { client.get(path) }

        func content(of call: Call) async throws -> Data {
            try await call.response().body.collect(upTo: 64 << 20)
        }

        func text(of call: Call) async throws -> String {
            String(decoding: try await content(of: call), as: UTF8.self)
        }
    }

    static func check(
        _ name: String, _ body: @escaping @Sendable (Road) async throws -> Void
    ) -> Check {
        Check(name) { transport in
            let server = try TestServer()
            let client = Client(
                baseURL: server.target, transport: transport, stack: [],
                serializers: SerializerTable())
            do {
                try await body(Road(server: server, client: client, transport: transport))
            } catch {
                server.stop()
                await transport.shutdown()
                guard server.counts.accepted == 0 else { throw error }
                let finding = (error as? ConformanceFailure)?.description ?? "it threw: \(error)"
                throw ConformanceFailure(
                    "\(finding); the server of the check got no connection from the transport")
            }
            server.stop()
            await transport.shutdown()
        }
    }
}

extension TransportConformance {
    static var connections: [Check] {
        [
            check("A connect target changes the connection but no name (if supported)") { road in
                guard road.transport.capabilities.contains(.connectTargets) else { return }
                road.server.fallback(.ok(text: "plain"))
                let endpoints = try (0..<2).map { _ in try TestServer() }
                defer { for endpoint in endpoints { endpoint.stop() } }
                for (number, endpoint) in endpoints.enumerated() {
                    endpoint.fallback(.ok(text: "endpoint \(number)"))
                }
                // The requests use no target and each endpoint, in turn.
                for _ in 0..<3 {
                    let plain = try await road.text(of: road.get("/"))
                    try require(plain == "plain", "a request without a target got \(plain)")
                    for (number, endpoint) in endpoints.enumerated() {
                        let target = ConnectTarget.host("127.0.0.1", port: endpoint.port)
                        let text = try await road.text(of: road.call("/", at: target))
                        try require(text == "endpoint \(number)", "\(target) got \(text)")
                    }
                }
                for server in endpoints + [road.server] {
                    let host = server.requests.first?.headers[.host]
                    try require(
                        host == "127.0.0.1:\(road.server.port)", "the Host is \(host ?? "missing")")
                    try require(
                        server.counts.accepted == 1,
                        "3 calls in a row took \(server.counts.accepted) connections to one place")
                }
            },
            check("With a connect target, the URL's host is not looked up (if supported)") {
                road in
                guard road.transport.capabilities.contains(.connectTargets) else { return }
                road.server.fallback(.ok(text: "x"))
                let target = ConnectTarget.host("127.0.0.1", port: road.server.port)
                let response = try await road.call("http://logical.invalid/a?b", at: target)
                    .response()
                _ = try await response.body.collect(upTo: 10)
                let request = road.server.requests.first
                try require(request?.target == "/a?b", "the target is \(request?.target ?? "")")
                try require(request?.headers[.host] == "logical.invalid", "the Host was changed")
                try require(response.url.host() == "logical.invalid", "the URL was changed")
            },
            check("If an endpoint refuses the connection, the call fails (if supported)") {
                road in
                guard road.transport.capabilities.contains(.connectTargets) else { return }
                road.server.fallback(.ok(text: "plain"))
                let endpoint = try TestServer()
                endpoint.stop()
                let target = ConnectTarget.host("127.0.0.1", port: endpoint.port)
                let error = try await requireError(.connection) {
                    _ = try await road.content(of: road.call("/", at: target))
                }
                try require(
                    error.transfer?.isUnsent == true, "the error does not say that nothing was sent"
                )
                try require(road.server.counts.requests == 0, "the request went to the URL's host")
            },
            check("An address rule is checked before each connection and request (if supported)") {
                road in
                guard road.transport.capabilities.contains(.addressRules) else { return }
                road.server.fallback(.ok(text: "x"))
                let rule = Rule()
                func call() -> Call { road.call("/", allowing: rule.addressRule) }
                // The first connection is new, and the second connection is reused.
                for isKept in [false, true] {
                    if isKept { _ = try await road.content(of: call()) }
                    rule.allows(false)
                    let error = try await requireError(.urlPolicy) {
                        _ = try await road.content(of: call())
                    }
                    try require(
                        error.transfer?.isUnsent == true,
                        "the error does not say that nothing was sent")
                    try require(
                        road.server.counts.requests == (isKept ? 1 : 0), "a request was sent")
                    rule.allows(true)
                }
                _ = try await road.content(of: call())
                try require(
                    rule.asked == [IPAddress(v4: 0x7F00_0001)],
                    "it was checked for \(rule.asked)")
            },
        ]
    }

    /// An address rule that allows all addresses or none, and records the checked addresses.
    private final class Rule: Sendable {
        private let state = Mutex((isOpen: true, asked: Set<IPAddress>()))

        var asked: Set<IPAddress> { state.withLock { $0.asked } }

        func allows(_ isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }

        var addressRule: AddressRule {
            AddressRule { address in
                self.state.withLock { state in
                    state.asked.insert(address)
                    return state.isOpen
                }
            }
        }
    }
}

extension TransportConformance.Road {
    fileprivate func call(
        _ target: Target, at endpoint: ConnectTarget? = nil, allowing rule: AddressRule? = nil
    ) -> Call {
        var request = Request(.get, target, relativeTo: server.url)
        request.options.connectTarget = endpoint
        request.options.addressRule = rule
        return client.request(request)
    }
}
