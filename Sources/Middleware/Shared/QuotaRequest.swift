// SPDX-License-Identifier: Apache-2.0

/// What a replica asks of a shared quota.
public struct QuotaRequest: Sendable, Hashable {
    /// Whose quota it is: an origin, a tenant, an account.
    ///
    /// The store keeps one state for each key and rule. It may contain any text without secrets.
    public var key: String
    /// The limits of the quota, each once; all must have room.
    ///
    /// The store keeps the state of each by its ``QuotaRule/identity``.
    public var rules: [QuotaRule]
    /// The fewest permits that are of use, such as the cost of one call; at least 1.
    public var minimum: Int
    /// The most permits that are of use.
    public var maximum: Int
    /// How far ahead permits may be reserved: the longest wait until the first permit may be used.
    public var reach: Duration

    /// Creates a request.
    public init(
        key: String, rules: [QuotaRule], minimum: Int = 1, maximum: Int = 1,
        reach: Duration = .zero
    ) {
        self.key = key
        self.rules = rules
        self.minimum = max(minimum, 1)
        self.maximum = max(maximum, self.minimum)
        self.reach = max(reach, .zero)
    }
}
