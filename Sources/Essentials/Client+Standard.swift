// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSerializers

extension Client {
    /// Creates a client with the standard serializers.
    /// - Parameters:
    ///   - baseURL: The base for relative URLs of requests: text, a URL or a target. If the base
    ///     URL is not valid, ``/TurnpikeCore/Client/fault`` is the error of each call.
    ///   - transport: Sends the requests.
    ///   - stack: The gates, outermost first.
    ///   - trace: The reader of all calls, such as the `TraceStore` of the module
    ///     `TurnpikeInspection`, or nil.
    ///   - timeSource: The source of all times in calls.
    ///   - randomSource: The source of all random values in calls.
    public convenience init(
        baseURL: (some TargetConvertible)? = Target?.none, transport: any Transport,
        stack: Stack = .standard, trace: (any CallReader)? = nil,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.init(
            baseURL: baseURL?.asTarget(), transport: transport, stack: stack,
            serializers: .standard,
            trace: trace, timeSource: timeSource, randomSource: randomSource)
    }

    /// Creates a client with the standard serializers, whose stack comes from a builder.
    public convenience init(
        baseURL: (some TargetConvertible)? = Target?.none, transport: any Transport,
        trace: (any CallReader)? = nil,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource(),
        @StackBuilder stack: () -> [any Gate]
    ) {
        self.init(
            baseURL: baseURL, transport: transport, stack: Stack(stack()), trace: trace,
            timeSource: timeSource, randomSource: randomSource)
    }
}
