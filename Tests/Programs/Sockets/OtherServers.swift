// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeWebSocket

/// Echoes at servers and through proxies that run already, and through one that cuts connections.
struct OtherServers {
    private let servers: [(name: String, url: String)]
    private let cut: String
    private let authority: String

    init(_ list: String, cutAt cut: String, authority: String) {
        servers = list.split(separator: ",").map { item in
            let parts = item.split(separator: "=", maxSplits: 1).map { String($0) }
            return (parts[0], parts[parts.count - 1])
        }
        (self.cut, self.authority) = (cut, authority)
    }

    func report(_ run: SocketRun) async throws -> JSONValue {
        var run = run
        // In all as many as the run has for one server.
        run.echoes = max(run.echoes / max(servers.count, 1), 1)
        run.largest = 20
        var configuration = CurlTransport.Configuration()
        configuration.maxConnectionsPerHost = run.sockets + 64
        configuration.trust.authorities = .file(authority)
        // No retry, which would hide a handshake that was cut.
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: [])
        // What the runtime opens for itself is there after the first sockets.
        var first = run
        (first.sockets, first.echoes) = (4, 1)
        for server in servers { _ = try await first.echo(client, server.url, 4) }
        let before = SocketRun.descriptors
        var echoes: [String: Int] = [:]
        for (name, url) in servers {
            do {
                echoes[name, default: 0] += try await run.echo(client, url, run.sockets)
            } catch { throw SocketFailure("\(name) \(url): \(error)") }
        }
        let cut = try await echoUntilCut(client, run)
        try await SocketRun.wait { client.runningCallCount == 0 }
        let running = client.runningCallCount
        await client.shutdown()
        try await SocketRun.wait { SocketRun.descriptors <= before }
        return [
            "program": "sockets",
            "echoes": .object(JSONObject(echoes.map { ($0, .number(JSONNumber($1))) })),
            "cut": .number(JSONNumber(cut)), "running": .number(JSONNumber(running)),
            "descriptorsLeft": .number(JSONNumber(max(SocketRun.descriptors - before, 0))),
        ]
    }

    /// Returns how many sockets were cut: each ends as lost, at any byte, with nothing behind it.
    private func echoUntilCut(_ client: Client, _ run: SocketRun) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<(10 * run.sockets) {
                if number >= run.sockets { _ = try await group.next() }
                group.addTask {
                    guard let socket = try await open(client) else { return 1 }
                    var messages = socket.messages.makeAsyncIterator()
                    do {
                        for index in 0... {
                            let message = WebSocket.Message.binary(run.message(number, index))
                            try await socket.send(message)
                            guard try await messages.next() == message else {
                                throw SocketFailure("another message came back, or an end")
                            }
                        }
                    } catch let error as ClientError where Self.codes.contains(error.code) {}
                    // The one error was given to the sender or to the reader.
                    while let more = try? await messages.next() {
                        throw SocketFailure("\(more.content.count) bytes behind the end")
                    }
                    if (try? await socket.send(.text("late"))) != nil {
                        throw SocketFailure("a message was sent behind the end")
                    }
                    return 1
                }
            }
            try await group.waitForAll()
        }
        return 10 * run.sockets
    }

    private static let codes: [ClientError.Code] = [.connection, .webSocketClosed]

    // Nil if the handshake was cut.
    private func open(_ client: Client) async throws -> WebSocket? {
        do {
            return try await client.webSocket(cut, options: SocketRun.options)
        } catch let error as ClientError where error.code == .connection { return nil }
    }
}
