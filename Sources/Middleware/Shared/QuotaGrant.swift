// SPDX-License-Identifier: Apache-2.0

/// Permits that were taken from a shared quota, each of which may be used from a moment on.
public struct QuotaGrant: Sendable, Hashable {
    /// How many permits were taken.
    public let permits: Int
    /// For each rule of the request, the time from the decision until the first permit is due.
    ///
    /// It is negative if permits were left: with -5 intervals, five more permits after the first one
    /// are due at once.
    public let offsets: [Duration]

    /// Creates a grant.
    public init(permits: Int, offsets: [Duration]) {
        self.permits = permits
        self.offsets = offsets
    }
}
