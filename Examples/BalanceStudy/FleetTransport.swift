// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike
import TurnpikeCore

/// The connections of one client.
///
/// With a connect target, a request goes only to that endpoint. Without one, it goes where libcurl
/// would send it: over an idle connection, or else to the first address of the DNS answer. The next
/// address is tried if that one refuses, or when half of the time limit has passed. The DNS server
/// rotates its answers, so that the clients are evenly distributed; it cannot do better.
final class FleetTransport: Transport {
    let capabilities: TransportCapabilities = .connectTargets
    private let fleet: Fleet
    private let client: Int
    private let idle = Mutex<[Connection]>([])

    /// Creates the transport of a client.
    init(_ fleet: Fleet, client: Int) {
        self.fleet = fleet
        self.client = client
    }

    func send(_ request: Request, context: Context) async throws -> Response {
        let connection = try await connection(for: request, context)
        let now = Self.now(context)
        switch fleet.serve(connection.endpoint, at: now) {
        case .answered(let status, let time):
            try await context.sleep(for: .seconds(time - now + fleet.scenario.roundTrip))
            idle.withLock { $0.append(connection) }
            return Response(to: request, status: status)
        case .reset(let time):
            try await context.sleep(for: .seconds(time - now))
            throw ClientError(
                .connection, "the connection was reset", transfer: TransferState(.sending))
        case .silence:
            // This is longer than any time limit of a stack.
            try await context.sleep(for: .seconds(600))
            throw ClientError(.connection, "no answer came", transfer: TransferState(.sending))
        }
    }

    func shutdown() async {}

    private func connection(for request: Request, _ context: Context) async throws -> Connection {
        let isDirected = request.options.connectTarget != nil
        let addresses = try addresses(for: request, Self.now(context))
        if let connection = takeIdle(isDirected ? addresses[0] : nil, Self.now(context)) {
            return connection
        }
        var limit = fleet.scenario.connectLimit
        var code = ClientError.Code.connection
        for (index, endpoint) in addresses.enumerated() {
            switch fleet.connect(to: endpoint, at: Self.now(context)) {
            case .stopped:
                try await context.sleep(for: .seconds(fleet.scenario.roundTrip))
                code = .connection
            case .silent:
                if index + 1 < addresses.count { limit /= 2 }
                try await context.sleep(for: .seconds(limit))
                code = .connectTimeout
            default:
                try await context.sleep(for: .seconds(fleet.scenario.roundTrip))
                return Connection(endpoint: endpoint, opened: Self.now(context))
            }
        }
        throw ClientError(code, "no connection", transfer: TransferState(.connecting))
    }

    private func addresses(for request: Request, _ now: Double) throws -> [Int] {
        guard let target = request.options.connectTarget else {
            let listed = fleet.listed(at: now)
            let first = client % listed.count
            return Array(listed[first...] + listed[..<first])
        }
        guard let number = fleet.number(of: target) else {
            throw ClientError(.configuration, "no endpoint has the address \(target)")
        }
        return [number]
    }

    // Takes the connection that was used last, because the others may be closed sooner.
    private func takeIdle(_ endpoint: Int?, _ now: Double) -> Connection? {
        idle.withLock { idle in
            while let last = idle.lastIndex(where: { endpoint == nil || $0.endpoint == endpoint }) {
                let connection = idle.remove(at: last)
                if !fleet.hasClosed(connection, by: now) { return connection }
            }
            return nil
        }
    }

    private static func now(_ context: Context) -> Double {
        Double(context.timeSource.now.nanoseconds) / 1e9
    }
}
