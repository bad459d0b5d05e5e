// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSerializers

extension Client {
    /// Creates a client with the standard serializers.
    /// - Parameters:
    ///   - baseURL: The URL that relative targets are resolved against.
    ///   - transport: Sends the requests.
    ///   - stack: The gates, outermost first.
    ///   - trace: The reader of all calls, such as the `TraceStore` of the module
    ///     `TurnpikeInspection`; nil for none.
    ///   - timeSource: The source of all time in calls.
    ///   - randomSource: The source of all random values in calls.
    public convenience init(
        baseURL: Target? = nil, transport: any Transport, stack: Stack = .standard,
        trace: (any CallReader)? = nil, timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.init(
            baseURL: baseURL, transport: transport, stack: stack, serializers: .standard,
            trace: trace, timeSource: timeSource, randomSource: randomSource)
    }

    /// Creates a client with the standard serializers, whose stack comes from a builder.
    public convenience init(
        baseURL: Target? = nil, transport: any Transport, trace: (any CallReader)? = nil,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource(),
        @StackBuilder stack: () -> [any Gate]
    ) {
        self.init(
            baseURL: baseURL, transport: transport, stack: Stack(stack()), trace: trace,
            timeSource: timeSource, randomSource: randomSource)
    }
}

// A literal is a base URL, and text in a variable is one too. What is wrong with the text is the
// client's fault, and the error of each call.
extension Client {
    /// Creates a client with the standard serializers; the text is the URL that relative targets are
    /// resolved against.
    public convenience init(
        baseURL: String, transport: any Transport, stack: Stack = .standard,
        trace: (any CallReader)? = nil, timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.init(
            baseURL: Target(baseURL), transport: transport, stack: stack, trace: trace,
            timeSource: timeSource, randomSource: randomSource)
    }

    /// Creates a client with the standard serializers, whose stack comes from a builder; the text is
    /// the URL that relative targets are resolved against.
    public convenience init(
        baseURL: String, transport: any Transport, trace: (any CallReader)? = nil,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource(),
        @StackBuilder stack: () -> [any Gate]
    ) {
        self.init(
            baseURL: Target(baseURL), transport: transport, stack: Stack(stack()), trace: trace,
            timeSource: timeSource, randomSource: randomSource)
    }
}
