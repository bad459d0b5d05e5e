// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

extension TransportConformance {
    static var upgrades: [Check] {
        [
            check("A request for an upgrade that is not supported fails before sending") { road in
                guard !road.transport.capabilities.contains(.upgrades) else { return }
                try await requireError(.unsupported) {
                    _ = try await road.upgrading("/").response()
                }
                try require(road.server.counts.requests == 0, "a request was sent")
            },
            upgrade("A request for an upgrade and its answer name the protocol (if supported)") {
                road in
                road.server.fallback(.echoing)
                let response = try await road.upgrading("/a?b").response()
                let request = try road.server.requests.first ?? missing("request")
                try require(response.status == 101, "the status is \(response.status)")
                try require(
                    response.upgradedConnection?.protocolName == "echo",
                    "the connection does not have the protocol of the answer")
                try require(
                    request.headers[.upgrade] == "echo"
                        && request.headers[.connection]?.lowercased() == "upgrade",
                    "the fields Upgrade and Connection are not those of an upgrade")
                try require(
                    request.method == .get && request.target == "/a?b",
                    "the request is \(request.method) \(request.target)")
            },
            upgrade("Upgraded bytes go both ways, first those after the head (if supported)") {
                road in
                road.server.fallback(.echoing)
                let connection = try await road.upgraded("/")
                try require(
                    try await connection.read(upTo: 2) == Data("ea".utf8),
                    "the bytes after the head of the 101 are lost")
                // The content exceeds the socket buffers. Client and server must therefore read and
                // write at the same time.
                let sent = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                async let writing: Void = connection.write(sent)
                var got = Data()
                while got.count < 3 + sent.count,
                    let bytes = try await connection.read(upTo: 65_536)
                {
                    try require(!bytes.isEmpty && bytes.count <= 65_536, "a read has another size")
                    got += bytes
                }
                try await writing
                try require(got == Data("rly".utf8) + sent, "other bytes came back")
            },
            upgrade("If the peer closes an upgraded connection, its bytes end (if supported)") {
                road in
                road.server.fallback(.upgrade(to: "echo", first: Data("bye".utf8)) { _ in })
                let connection = try await road.upgraded("/")
                var got = Data()
                while let bytes = try await connection.read(upTo: 10) { got += bytes }
                try require(got == Data("bye".utf8), "\(got.count) bytes came before the end")
            },
            upgrade("A response without upgrade is an ordinary response (if supported)") { road in
                road.server.route("/length", .status(401, body: Data("who".utf8)))
                road.server.route(
                    "/chunks", .chunked([Data("w".utf8), Data("ho".utf8)], status: 503))
                let head = "HTTP/1.1 404 Not Found\r\n\r\nwho"
                road.server.route("/close", .raw(Data(head.utf8)))
                for (path, status) in [("/length", 401), ("/chunks", 503), ("/close", 404)] {
                    let response = try await road.upgrading(Target(path)).response()
                    try require(response.status.code == status, "the status is \(response.status)")
                    try require(response.upgradedConnection == nil, "it has an upgrade")
                    let content = try await response.body.collect(upTo: 10)
                    try require(content == Data("who".utf8), "the content of \(path) differs")
                }
            },
            upgrade("Cancelling the wait for an upgrade closes its connection (if supported)") {
                road in
                road.server.fallback(.silence)
                let call = Task { try await road.upgraded("/") }
                try await road.server.waitForRequests(1)
                call.cancel()
                try await requireCancellation { _ = try await call.value }
                try await road.server.wait { $0.open == 0 }
            },
            upgrade("Cancelling, closing and dropping an upgrade end it (if supported)") { road in
                road.server.fallback(.upgrade(to: "echo") { while $0.read() != nil {} })
                let held = try await road.upgraded("/")
                let read = Task { try await held.read(upTo: 10) }
                road.client.cancelAll()
                // The read may throw an error or return the end.
                _ = try? await read.value
                try await road.server.wait { $0.accepted == 1 && $0.open == 0 }
                try await requireError(.connection) { try await held.write(Data([1])) }
                try await road.upgraded("/").close()
                _ = try await road.upgraded("/")
                try await road.server.wait { $0.accepted == 3 && $0.open == 0 }
                try require(road.client.runningCallCount == 0, "a call counts as running")
            },
        ]
    }

    private static func upgrade(
        _ name: String, _ body: @escaping @Sendable (Road) async throws -> Void
    ) -> Check {
        check(name) { road in
            if road.transport.capabilities.contains(.upgrades) { try await body(road) }
        }
    }

    private static func missing<Value>(_ what: String) throws -> Value {
        throw ConformanceFailure("there is no \(what)")
    }
}

extension TransportConformance.Road {
    fileprivate func upgrading(_ target: Target) -> Call {
        var call = get(target)
        call.request.options.upgrade = "echo"
        return call
    }

    fileprivate func upgraded(_ target: Target) async throws -> UpgradedConnection {
        let response = try await upgrading(target).response()
        guard let connection = response.upgradedConnection else {
            throw ConformanceFailure("a response with \(response.status) has no connection")
        }
        return connection
    }
}

extension TestAnswer {
    fileprivate static var echoing: TestAnswer {
        .upgrade(to: "echo", first: Data("early".utf8)) { peer in
            while let bytes = peer.read() { peer.write(bytes) }
        }
    }
}
