// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSerializers

extension Client {
    /// Creates a client over URLSession.
    ///
    /// On Linux a server can end the process over it (*What URLSession on Linux cannot do*); the first
    /// log of a call has a note of that, and the linter a finding. `transport: try CurlTransport()`
    /// changes it.
    /// - Parameters:
    ///   - baseURL: The URL that relative targets are resolved against.
    ///   - stack: The gates, outermost first.
    ///   - trace: Keeps traces of calls that fail, of slow ones, and of a share of the others; nil for
    ///     none.
    public convenience init(
        baseURL: Target? = nil, stack: Stack = .standard, trace: TraceStore? = nil
    ) {
        self.init(
            baseURL: baseURL, transport: URLSessionTransport(unchosen: ()), stack: stack,
            trace: trace)
    }

    /// Creates a client with the standard serializers.
    /// - Parameters:
    ///   - baseURL: The URL that relative targets are resolved against.
    ///   - transport: Sends the requests.
    ///   - stack: The gates, outermost first.
    ///   - trace: Keeps traces of calls that fail, of slow ones, and of a share of the others; nil for
    ///     none.
    ///   - timeSource: The source of all time in calls.
    ///   - randomSource: The source of all random values in calls.
    public convenience init(
        baseURL: Target? = nil, transport: any Transport, stack: Stack = .standard,
        trace: TraceStore? = nil, timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.init(
            baseURL: baseURL, transport: transport, stack: stack, serializers: .standard,
            trace: trace, timeSource: timeSource, randomSource: randomSource)
    }

    /// Creates a client with the standard serializers, whose stack comes from a builder.
    ///
    /// Without a transport it is one over URLSession, as in a client without arguments.
    public convenience init(
        baseURL: Target? = nil, transport: (any Transport)? = nil,
        trace: TraceStore? = nil, timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource(),
        @StackBuilder stack: () -> [any Gate]
    ) {
        self.init(
            baseURL: baseURL, transport: transport ?? URLSessionTransport(unchosen: ()),
            stack: Stack(stack()), serializers: .standard, trace: trace,
            timeSource: timeSource, randomSource: randomSource)
    }
}
