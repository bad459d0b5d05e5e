// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeEssentials
import TurnpikeURLSession

extension Client {
    /// Creates a client over URLSession.
    ///
    /// On Linux, some responses of a server can crash the process (*What URLSession on Linux cannot
    /// do*). The first log of a call contains a note about this problem, and the linter reports a
    /// finding. With `transport: try CurlTransport()`, the process cannot crash in this way.
    /// - Parameters:
    ///   - baseURL: The base for relative URLs of requests: text, a URL or a target.
    ///   - stack: The gates, outermost first.
    ///   - trace: The reader of all calls, such as the `TraceStore` of the module
    ///     `TurnpikeInspection`, or nil.
    public convenience init(
        baseURL: (some TargetConvertible)? = Target?.none, stack: Stack = .standard,
        trace: (any CallReader)? = nil
    ) {
        self.init(
            baseURL: baseURL, transport: URLSessionTransport(isChosen: false), stack: stack,
            trace: trace)
    }

    /// Creates a client over URLSession with the stack of a builder.
    public convenience init(
        baseURL: (some TargetConvertible)? = Target?.none, trace: (any CallReader)? = nil,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource(),
        @StackBuilder stack: () -> [any Gate]
    ) {
        self.init(
            baseURL: baseURL, transport: URLSessionTransport(isChosen: false),
            stack: Stack(stack()), trace: trace, timeSource: timeSource,
            randomSource: randomSource)
    }
}
