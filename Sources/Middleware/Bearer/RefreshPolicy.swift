/// When and how often a bearer token is refreshed.
public struct RefreshPolicy: Sendable, Hashable {
    /// How many refreshes may begin within ``window``; the next one fails the calls that need it.
    public var maxRefreshes: Int
    /// The time over which ``maxRefreshes`` counts.
    public var window: Duration
    /// The longest time a refresh may take; no call's deadline shortens it.
    public var timeLimit: Duration
    /// How long before its end a token is replaced, at most half of its life.
    public var leeway: Duration

    /// Creates a policy.
    /// - Parameters:
    ///   - maxRefreshes: How many refreshes may begin within the window.
    ///   - window: The window.
    ///   - timeLimit: The longest time a refresh may take.
    ///   - leeway: How long before its end a token is replaced.
    public init(
        maxRefreshes: Int = 5, window: Duration = .seconds(30), timeLimit: Duration = .seconds(30),
        leeway: Duration = .seconds(30)
    ) {
        self.maxRefreshes = maxRefreshes
        self.window = window
        self.timeLimit = timeLimit
        self.leeway = leeway
    }

    /// The defaults.
    public static let standard = RefreshPolicy()
}
