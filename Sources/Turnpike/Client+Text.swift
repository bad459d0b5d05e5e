// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

// A literal is a base URL, and so is text in a variable. What is wrong with the text is the client's
// fault, and the error of each call.
extension Client {
    /// Creates a client over URLSession; the text is the URL that relative targets are resolved
    /// against.
    public convenience init(
        baseURL: String, stack: Stack = .standard, trace: TraceStore? = nil
    ) {
        self.init(baseURL: Target(baseURL), stack: stack, trace: trace)
    }

    /// Creates a client with the standard serializers; the text is the URL that relative targets are
    /// resolved against.
    public convenience init(
        baseURL: String, transport: any Transport, stack: Stack = .standard,
        trace: TraceStore? = nil, timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.init(
            baseURL: Target(baseURL), transport: transport, stack: stack, trace: trace,
            timeSource: timeSource, randomSource: randomSource)
    }

    /// Creates a client with the standard serializers, whose stack comes from a builder; the text is
    /// the URL that relative targets are resolved against.
    public convenience init(
        baseURL: String, transport: any Transport = URLSessionTransport(),
        trace: TraceStore? = nil, timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource(),
        @StackBuilder stack: () -> [any Gate]
    ) {
        self.init(
            baseURL: Target(baseURL), transport: transport, trace: trace, timeSource: timeSource,
            randomSource: randomSource, stack: stack)
    }
}
