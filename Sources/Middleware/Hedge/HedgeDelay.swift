/// When a hedge is sent.
public struct HedgeDelay: Sendable, Hashable {
    enum Kind: Hashable {
        case fixed(Duration)
        case percentile(Double, atLeast: Duration, initially: Duration?)
    }

    let kind: Kind

    /// After a time that is always the same.
    public static func fixed(_ delay: Duration) -> HedgeDelay { HedgeDelay(kind: .fixed(delay)) }

    /// When an attempt takes longer than most did of late, to the same origin.
    /// - Parameters:
    ///   - part: The part of the attempts that are faster: 0.95 sends a hedge for about one call in
    ///     twenty.
    ///   - atLeast: The shortest delay.
    ///   - initially: The delay until 20 attempts were measured; nil sends no hedge before.
    /// - Returns: The delay.
    public static func percentile(
        _ part: Double = 0.95, atLeast: Duration = .milliseconds(50), initially: Duration? = nil
    ) -> HedgeDelay {
        // What is no number waits for the slowest.
        let part = part <= 1 ? Swift.max(part, 0) : 1
        return HedgeDelay(kind: .percentile(part, atLeast: atLeast, initially: initially))
    }
}
