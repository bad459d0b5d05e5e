// SPDX-License-Identifier: Apache-2.0

/// The worst case of one call through a stack.
///
/// A bound is never smaller than what can happen, as long as the gates' facts are true. It may be
/// larger. The time that code takes without waiting is not counted.
public struct StackBounds: Sendable, Hashable {
    /// How much is computed, which depends on the number of gates, those of groups included.
    public enum Extent: Sendable, Hashable {
        /// The limits, and the gates that bound them.
        case full
        /// The limits alone, for more than 100 gates: no bound has places.
        case limits
        /// Nothing, for more than 1,000 gates: each limit is unknown.
        case nothing
    }

    /// How much of the worst case is computed.
    public let extent: Extent
    /// The most exchanges, redirects included.
    ///
    /// Where no retry decides, it counts the one more that a repeatable request is sent if a
    /// kept-alive connection ends before an answer.
    /// What a gate sends for many calls, such as a request for a token, is not part of a call.
    public let sends: StackBound<Int64>
    /// The longest time until the caller has the response or the error.
    ///
    /// The response includes its content, unless the call streams.
    public let time: StackBound<Duration>
    /// The longest time until the head of the response has come, or the error.
    public let head: StackBound<Duration>
    /// The longest time, in all, in which nothing of the call is under way: back-off, lines, tokens.
    public let waiting: StackBound<Duration>
    /// The most bytes in memory: collected content, and what gates hold.
    ///
    /// For a call that streams, only what gates hold.
    public let memory: StackBound<Int64>
    /// The most bytes that gates hold on disk.
    public let disk: StackBound<Int64>
}
