/// When and how often a bearer token is refreshed.
public struct RefreshPolicy: Sendable, Hashable {
    /// How many refreshes may begin within ``window``; the next one fails the calls that need it.
    public var maxRefreshes: Int
    /// The time over which ``maxRefreshes`` counts.
    public var window: Duration
    /// The longest time that a call waits for a refresh.
    public var timeLimit: Duration
    /// How long before its end a token is replaced, at most half of its life.
    public var leeway: Duration

    /// Creates a policy.
    /// - Parameters:
    ///   - maxRefreshes: How many refreshes may begin within the window.
    ///   - window: The window.
    ///   - timeLimit: The longest time that a call waits for a refresh.
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

    /// How long the answer to a refresh is waited for in all: four times ``timeLimit``, and two
    /// minutes at least.
    ///
    /// It comes too late for the calls that waited, and is kept. Only after this a refresh token that
    /// may be spent is sent again: by then a server has answered, or the connection has died.
    public var answerLimit: Duration { max(timeLimit * 4, .seconds(120)) }

    /// The defaults.
    public static let standard = RefreshPolicy()
}
