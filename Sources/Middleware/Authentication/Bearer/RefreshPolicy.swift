// SPDX-License-Identifier: Apache-2.0

/// When and how often a bearer token is refreshed.
public struct RefreshPolicy: Sendable, Hashable {
    /// The number of refused tokens that are replaced within ``window``; beyond it, calls with a
    /// refused token fail.
    ///
    /// A token that has expired does not count.
    public var maxRefreshes: Int
    /// The time over which refused tokens are counted.
    public var window: Duration
    /// The longest time that a call waits for a refresh.
    public var timeLimit: Duration
    /// How long before its expiry a token is replaced, at most half of its lifetime.
    public var leeway: Duration

    /// Creates a policy.
    /// - Parameters:
    ///   - maxRefreshes: The most refused tokens that are replaced within the window.
    ///   - window: The time over which refused tokens are counted.
    ///   - timeLimit: The longest time that a call waits for a refresh.
    ///   - leeway: How long before its expiry a token is replaced.
    public init(
        maxRefreshes: Int = 5, window: Duration = .seconds(30), timeLimit: Duration = .seconds(30),
        leeway: Duration = .seconds(30)
    ) {
        self.maxRefreshes = maxRefreshes
        self.window = window
        self.timeLimit = timeLimit
        self.leeway = leeway
    }

    /// The longest wait for the answer to a refresh: four times ``timeLimit``, and at least two
    /// minutes.
    ///
    /// An answer that comes after ``timeLimit`` is too late for the calls that waited, but its
    /// token is kept. A refresh token that may be spent is sent again only after this limit: by
    /// then the server has answered, or the connection is dead.
    public var answerLimit: Duration { max(timeLimit * 4, .seconds(120)) }

    /// The defaults.
    public static let standard = RefreshPolicy()
}
