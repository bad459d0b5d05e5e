// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeDownloads
import TurnpikeTesting

// What the article shows. Each declaration without `nonisolated` belongs to the main actor, unless
// it conforms to a protocol that keeps it from that.

nonisolated struct Planet: Codable {
    var name: String
    var moons: Int
}

final class PlanetModel {
    private(set) var planet: Planet?
    private(set) var fraction: Double?
    private let client: Client

    init(client: Client) { self.client = client }

    func load() async throws {
        planet = try await client.get("planets/3").decode(Planet.self)
    }

    func saveMap(to folder: URL) async throws {
        try await client.get("maps/3").download(to: folder) { progress in
            fraction = progress.fractionReceived
        }
    }

    func sendMap(_ file: URL) async throws {
        let running = client.post("maps", body: .file(file)).start(.empty)
        for await progress in running.progress {
            fraction = progress.fractionSent
        }
        try await running.value
    }
}

struct TenantName: SynchronousRequestAdapter {
    let tenant: String
    func adapt(_ request: inout Request, context: Context) {
        request.headers["X-Tenant"] = tenant
    }
}

struct SignOut: Interceptor {
    let onRefusal: @MainActor () -> Void

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        let response = try await next(request)
        if response.status == .unauthorized { await onRefusal() }
        return response
    }
}

final class CountingTransport: Transport {
    private let inner: any Transport
    private let count = Mutex(0)

    init(_ inner: any Transport) { self.inner = inner }

    var capabilities: TransportCapabilities { inner.capabilities }
    var sentCount: Int { count.withLock { $0 } }

    func send(_ request: Request, context: Context) async throws -> Response {
        count.withLock { $0 += 1 }
        return try await inner.send(request, context: context)
    }

    func shutdown() async { await inner.shutdown() }
}

struct RowSerializer: ContentSerializer {
    var accept: [MediaType] { ["text/csv"] }

    func serialize(_ content: Data, of head: ResponseHead) throws -> [[Substring]] {
        String(decoding: content, as: UTF8.self).split(separator: "\n")
            .map { $0.split(separator: ",") }
    }
}

nonisolated extension Call {
    func rows() async throws -> [[Substring]] { try await serialize(with: RowSerializer()) }
}

@concurrent func moonCount(_ client: Client) async throws -> Int {
    let planets = try await client.get("planets").decode([Planet].self)
    return planets.reduce(0) { $0 + $1.moons }
}

// Not in the article: what gates of such a module use beside.

enum TenantKey: ContextKey {
    static let defaultValue: String? = nil
    static let scope = ContextScope.call
}

enum TenantOption: RequestOptionKey {
    typealias Value = String
}

struct TenantOfCall: RequestAdapter {
    func adapt(_ request: inout Request, context: Context) async throws {
        context[TenantKey.self] = request.options[TenantOption.self]
        request.headers["X-Tenant"] = context[TenantKey.self]
    }
}

extension Gate where Self == TenantName {
    static func tenant(_ name: String) -> Self { TenantName(tenant: name) }
}
