public import TurnpikeCore

/// How a limit on concurrent calls follows what a server bears: additive increase, multiplicative
/// decrease, as TCP does (Chiu and Jain, 1989).
///
/// The defaults are those of libraries that do this for servers of unknown strength: begin with 20,
/// never below 4, lower by a tenth. The upper end is the limit's own `perOrigin`; where it is lower
/// than these, it counts.
///
/// Each good answer to a call while the limit is in use raises the limit of its origin a little, so
/// that a round of them raises it by one, up to the configured limit. A sign of overload lowers it
/// by a factor, at most once in a while.
public struct AdaptiveLimit: Sendable {
    /// The limit to begin with; the configured one where nil.
    public var initial: Int?
    /// The lowest limit.
    public var min: Int
    /// The factor that overload lowers the limit by.
    public var decrease: Double
    /// The time after a decrease in which there is no other: what was sent before it still fails.
    public var pause: Duration
    /// Whether an outcome is a sign of overload.
    public var isOverload: @Sendable (Outcome) -> Bool

    /// Creates a rule.
    /// - Parameters:
    ///   - initial: The limit to begin with; the configured one where nil.
    ///   - min: The lowest limit.
    ///   - decrease: The factor that overload lowers the limit by, below 1.
    ///   - pause: The time after a decrease in which there is no other.
    ///   - isOverload: Whether an outcome is a sign of overload: 429, 503, and attempts or
    ///     connections that take too long.
    public init(
        initial: Int? = 20, min: Int = 4, decrease: Double = 0.9, pause: Duration = .seconds(1),
        isOverload: @escaping @Sendable (Outcome) -> Bool = AdaptiveLimit.standardSigns
    ) {
        self.initial = initial
        self.min = Swift.max(min, 1)
        // What is no number lowers it to the lowest.
        self.decrease = decrease > 0 ? Swift.min(decrease, 0.99) : 0
        self.pause = pause
        self.isOverload = isOverload
    }

    /// The default signs.
    public static func standardSigns(_ outcome: Outcome) -> Bool {
        if let status = outcome.status { return status == 429 || status == 503 }
        return outcome.code == .attemptTimeout || outcome.code == .connectTimeout
    }
}
