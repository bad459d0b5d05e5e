public import TurnpikeCore
import TurnpikeSerializers

extension Client {
    /// Creates a client with the standard stack over URLSession.
    /// - Parameter baseURL: What relative targets are resolved against.
    public convenience init(baseURL: Target? = nil) {
        self.init(baseURL: baseURL, transport: URLSessionTransport(), stack: .standard)
    }

    /// Creates a client over URLSession.
    /// - Parameters:
    ///   - baseURL: What relative targets are resolved against.
    ///   - stack: The gates, outermost first.
    public convenience init(baseURL: Target? = nil, stack: Stack) {
        self.init(baseURL: baseURL, transport: URLSessionTransport(), stack: stack)
    }

    /// Creates a client with the standard serializers.
    /// - Parameters:
    ///   - baseURL: What relative targets are resolved against.
    ///   - transport: What carries the requests.
    ///   - stack: The gates, outermost first.
    ///   - timeSource: Where all time in calls comes from.
    ///   - randomSource: Where all chance in calls comes from.
    public convenience init(
        baseURL: Target? = nil, transport: any Transport, stack: Stack = .standard,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.init(
            baseURL: baseURL, transport: transport, stack: stack, serializers: .standard,
            timeSource: timeSource, randomSource: randomSource)
    }

    /// Creates a client with the standard serializers, whose stack is built from types.
    public convenience init(
        baseURL: Target? = nil, transport: any Transport = URLSessionTransport(),
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource(),
        @StackBuilder stack: () -> [any Gate]
    ) {
        self.init(
            baseURL: baseURL, transport: transport, stack: Stack(stack()), serializers: .standard,
            timeSource: timeSource, randomSource: randomSource)
    }
}
