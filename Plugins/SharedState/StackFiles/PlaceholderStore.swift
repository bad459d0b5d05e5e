// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
public import TurnpikeSharedState
public import TurnpikeTraffic

/// Replaces a store while a stack file is only checked.
///
/// Each operation of this store fails.
///
/// If ``/TurnpikeStackFiles/Settings/isDryRun`` is true, the factory of a store
/// (`register(sharedStore:)`) returns a placeholder, because a check opens nothing.
public struct PlaceholderStore: SharedStore {
    /// Whether secrets are hidden on their way to the store that the file describes.
    public let hidesTraffic: Bool?

    /// Creates a store whose operations fail.
    /// - Parameter hidesTraffic: The value of the real store
    ///   (``/TurnpikeSharedState/SharedStore/hidesTraffic``), for the linter.
    public init(hidesTraffic: Bool? = nil) { self.hidesTraffic = hidesTraffic }

    private static var failure: ClientError {
        ClientError(.configuration, "a stack file that is only checked has no store")
    }

    /// Fails.
    public func take(_ request: QuotaRequest) async throws -> QuotaAnswer { throw Self.failure }

    /// Fails.
    public func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws {
        throw Self.failure
    }

    /// Fails.
    public func lower(
        to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]
    ) async throws {
        throw Self.failure
    }

    /// Fails.
    public func coolDown(for duration: Duration, _ key: String) async throws { throw Self.failure }

    /// Fails.
    public func cooldown(of key: String) async throws -> Duration? { throw Self.failure }

    /// Fails.
    public func token(_ key: String) async throws -> StoredToken? { throw Self.failure }

    /// Fails.
    public func store(
        _ token: StoredToken, _ key: String, for lifetime: Duration?
    ) async throws -> Bool {
        throw Self.failure
    }

    /// Fails.
    public func lock(_ key: String, for duration: Duration) async throws -> LockAnswer {
        throw Self.failure
    }

    /// Fails.
    public func unlock(_ lock: SharedLock) async throws { throw Self.failure }

    /// Fails.
    public func beat(
        _ replica: String, of group: String, for lifetime: Duration
    ) async throws -> Int {
        throw Self.failure
    }
}
