// SPDX-License-Identifier: Apache-2.0

import TestSupport
import TurnpikeMiddleware
import TurnpikeSharedState
import TurnpikeTraffic
import TurnpikeValkey

/// One permit per hour, so that none comes while a test runs.
func hourly(_ burst: Double) -> QuotaRule { QuotaRule(1, per: .seconds(3600), burst: burst) }

extension SharedStore {
    /// How many permits of an hourly rule are given; nil if none.
    func taken(_ request: QuotaRequest) async throws -> Int? {
        guard case .granted(let grant) = try await take(request) else { return nil }
        return grant.permits
    }

    /// How long from now the next permit comes, if there is none.
    func wait(_ request: QuotaRequest) async throws -> Duration? {
        guard case .exhausted(let wait) = try await take(request) else { return nil }
        return wait
    }
}
