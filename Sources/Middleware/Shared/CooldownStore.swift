// SPDX-License-Identifier: Apache-2.0

/// Keeps until when nothing is to be sent to an origin, because it said so to one of the replicas.
public protocol CooldownStore: Sendable {
    /// Begins a cool-down, or prolongs it; it is never shortened.
    /// - Parameters:
    ///   - duration: How long it lasts from now on.
    ///   - key: What must not be used: an origin, or a tenant's account there. The same key as that
    ///     of the quota.
    /// - Throws: Any error, if the store has no answer.
    func coolDown(for duration: Duration, _ key: String) async throws

    /// The time that is left of a cool-down; nil if there is none.
    func cooldown(of key: String) async throws -> Duration?
}
