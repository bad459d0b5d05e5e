// SPDX-License-Identifier: Apache-2.0

import struct Foundation.Data
import TurnpikeCore

/// What a limit asks of requests and responses.
struct QuotaOptions: Sendable {
    var key: (@Sendable (Request) -> String?)?
    var cost: (@Sendable (Request) -> Int)?
    var headCost: (@Sendable (ResponseHead) -> Int?)?
    var contentCost: (@Sendable (ResponseHead, Data) -> Int?)?
    var maxContent = 0
    var readsFields = false

    /// No call costs more.
    static let maxCost = 1_000_000_000

    func cost(of request: Request) -> Int {
        guard let cost else { return 1 }
        return max(Self.clamped(cost(request)), 0)
    }

    static func clamped(_ permits: Int) -> Int { min(max(permits, -maxCost), maxCost) }
}
