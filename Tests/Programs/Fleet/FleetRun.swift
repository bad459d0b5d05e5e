// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCurl
import TurnpikeSharedState
import TurnpikeValkey

/// The calls of one replica.
final class FleetRun: Sendable {
    private let server: ValkeyServer
    private let client: Client
    private let probe: Client
    private let path: String
    private let seconds: Int
    private let concurrency: Int
    private let report = Mutex(FleetReport())

    /// What answers a probe: nothing is sent.
    private struct Mute: Transport {
        var capabilities: TransportCapabilities { [] }

        func send(_ request: Request, context: Context) async throws -> Response {
            Response(to: request, status: 204)
        }

        func shutdown() async {}
    }

    init(_ options: FleetOptions) throws {
        path = options["path"].isEmpty ? "/" : options["path"]
        seconds = options.number("seconds", 5)
        concurrency = options.number("concurrency", 10)
        server = try ValkeyServer(url: options["valkey"])
        let shared = SharedState(server)
        client = Client(
            baseURL: Target(options["origin"]), transport: try CurlTransport(),
            stack: [
                .sharedRateLimit(
                    perSecond: Double(options.number("quota", 100)),
                    burst: options.number("burst", 10), shared: shared)
            ])
        // So many that a probe never waits for a permit, and so small a burst that there are no
        // leases: each probe asks the store.
        probe = Client(
            baseURL: "http://probe.example/", transport: Mute(),
            stack: [.sharedRateLimit(perSecond: 2000, burst: 8, shared: shared)])
    }

    func run() async -> FleetReport {
        let end = ContinuousClock.now + .seconds(seconds)
        await withTaskGroup { group in
            for _ in 0..<concurrency {
                group.addTask { [self] in
                    while ContinuousClock.now < end { await call(client, path, isProbe: false) }
                }
            }
            group.addTask { [self] in
                while ContinuousClock.now < end {
                    await call(probe, "/", isProbe: true)
                    try? await Task.sleep(for: .milliseconds(40))
                }
            }
        }
        await client.shutdown()
        await probe.shutdown()
        await server.shutdown()
        return report.withLock { $0 }
    }

    private func call(_ client: Client, _ path: String, isProbe: Bool) async {
        let begin = ContinuousClock.now
        do {
            try await client.get(Target(path)).empty()
            let time = ContinuousClock.now - begin
            report.withLock { $0.ended(after: time, isProbe: isProbe) }
        } catch {
            report.withLock { $0.failed(error) }
        }
    }
}

/// What became of the calls.
struct FleetReport {
    private(set) var calls = 0
    private(set) var failures = 0
    private(set) var errors: [String] = []
    private var probes: [Double] = []
    private var longest = 0.0

    mutating func ended(after time: Duration, isProbe: Bool) {
        let milliseconds = time / .milliseconds(1)
        if isProbe { return probes.append(milliseconds) }
        calls += 1
        longest = max(longest, milliseconds)
    }

    mutating func failed(_ error: any Error) {
        failures += 1
        if errors.count < 3 { errors.append("\(error)") }
    }

    var text: String {
        let probes = probes.map { "\(($0 * 100).rounded() / 100)" }.joined(separator: ",")
        return """
            {"program": "fleet", "calls": \(calls), "failures": \(failures), \
            "longest": \(longest), "probes": [\(probes)]}
            """
    }
}
