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
    try await eventually(what, limit: limit) { condition() }
}

/// Tries until a condition holds that has to be asked for: ``until(_:limit:_:)`` with `await`.
package func eventually(
    _ what: String, limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        if ContinuousClock.now >= end { throw WaitExpired(after: limit, for: what) }
        await Task.yield()
    }
}
