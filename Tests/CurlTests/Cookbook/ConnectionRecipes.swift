// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeWebSocket

// The code of the page "Cookbook: connections"; a test compares them.

func makeCertificateClient(_ base: Target, _ folder: String) throws -> Client {
    var configuration = CurlTransport.Configuration()
    configuration.trust.clientCertificate = CurlTransport.ClientCertificate(
        certificate: folder + "/client.pem", key: folder + "/client.key")
    configuration.trust.authorities = .file(folder + "/authority.pem")
    return Client(
        baseURL: base, transport: try CurlTransport(configuration: configuration),
        stack: .standard)
}

func makeInternalClient(_ base: Target, authority: Data) throws -> Client {
    var configuration = CurlTransport.Configuration()
    configuration.trust.authorities = .data(authority)
    configuration.trust.minimumVersion = .tls13
    return Client(
        baseURL: base, transport: try CurlTransport(configuration: configuration),
        stack: .standard)
}

func makePinnedClient(
    _ base: Target, pins: [String], _ configuration: CurlTransport.Configuration = .init()
) throws -> Client {
    guard pins.count >= 2 else {
        throw ClientError(.configuration, "found \(pins.count) pins; expected a backup too")
    }
    var configuration = configuration
    configuration.trust.pins = try pins.map { try CurlTransport.PublicKeyPin($0) }
    return Client(
        baseURL: base, transport: try CurlTransport(configuration: configuration),
        stack: .standard)
}

func makeProxyClient(_ base: Target, _ environment: [String: String]) throws -> Client {
    var configuration = CurlTransport.Configuration()
    configuration.proxy = .environment(environment)
    return Client(
        baseURL: base, transport: try CurlTransport(configuration: configuration),
        stack: .standard)
}

func makeSocketClient(_ path: String) throws -> Client {
    var configuration = CurlTransport.Configuration()
    configuration.unixSocket = path
    return Client(
        baseURL: "http://localhost/v1.47/",
        transport: try CurlTransport(configuration: configuration), stack: .standard)
}

struct Price: Decodable {
    let pair: String
    let bid: Double
}

func followPrices(
    _ client: Client, of pair: String, _ take: (Price) throws -> Void
) async throws {
    let feed = client.get("prices").reconnectingWebSocket(
        options: WebSocket.Options(keepAlive: .seconds(30))
    ) { socket in
        try await socket.send(json: ["subscribe": pair])
    }
    for try await event in feed {
        switch event {
        case .connected: break
        case .reconnected(_, let gap): print("no prices were heard for \(gap)")
        case .message(let message):
            try take(JSONDecoder().decode(Price.self, from: message.content))
        }
    }
}
