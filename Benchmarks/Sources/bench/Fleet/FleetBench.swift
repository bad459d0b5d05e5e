// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The cost of state that replicas share, with a store in memory, and with a real server if one is
/// installed.
enum FleetBench {
    static func run(_ report: Report, only names: Set<String>) async throws {
        let server = try await RedisProcess.start()
        defer { server?.end() }
        if server == nil {
            report.line([
                ("bench", "fleet"), ("skipped", "no redis-server or valkey-server is found"),
            ])
        }
        if names.isEmpty || names.contains("limit") { try await FleetLimit.run(report, server) }
        guard let server else { return }
        if names.isEmpty || names.contains("roundTrip") {
            try await FleetRoundTrip.run(report, server)
        }
    }
}
