// SPDX-License-Identifier: Apache-2.0

/// The settings of a stack file for a cache store that replicas share.
public struct SharedStoreSettings: Sendable, Hashable {
    /// How the names of the store's keys begin; nil for the store's own default.
    public var prefix: String?
    /// The most bytes of an entry; nil for the store's own default.
    public var maxEntryBytes: Int?
    /// How long a miss waits for another replica's request; nil for no wait.
    public var fleetLock: Duration?

    init() {}
}
