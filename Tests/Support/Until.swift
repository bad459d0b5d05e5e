// SPDX-License-Identifier: Apache-2.0

import TurnpikeTesting

/// Waits until a condition holds, and lets other tasks run meanwhile.
/// - Parameters:
///   - what: What is waited for, as it is named if it does not come.
///   - limit: How long to wait at most.
///   - condition: The condition, which is asked again and again.
/// - Throws: ``WaitExpired`` after the limit.
package func until(
    _ what: String, limit: Duration = .seconds(60), _ condition: () -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while !condition() {
        if ContinuousClock.now >= end { throw WaitExpired(after: limit, for: what) }
        await Task.yield()
    }
}
