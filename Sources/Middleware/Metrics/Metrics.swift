public import TurnpikeCore

/// Measures each pass into a store, by the names and buckets of OpenTelemetry's semantic
/// conventions.
///
/// Inside a retry it measures attempts, which is what `http.client.request.duration` means;
/// outermost it measures calls.
public struct Metrics: MetricsRecorder {
    private let store: MetricsStore
    private let exposition: (@Sendable (String) -> Void)?
    private let hold: MetricsHold?

    /// Creates a gate that measures into a store, which may be shared.
    /// - Parameters:
    ///   - store: The store.
    ///   - exposition: Gets the store as Prometheus text when the client is shut down.
    public init(_ store: MetricsStore, exposition: (@Sendable (String) -> Void)? = nil) {
        self.store = store
        self.exposition = exposition
        hold = nil
    }

    init(_ output: MetricsOutput) {
        store = output.store
        exposition = nil
        hold = MetricsHold(output)
    }

    /// Hands out the store's text.
    public func shutdown() async {
        exposition?(store.prometheusText)
        await hold?.flush()
    }

    /// Counts a pass that begins.
    public func passBegins(_ request: Request) { store.begin(request) }

    /// Records a pass.
    public func record(_ measurement: CallMeasurement) { store.record(measurement) }
}

extension Gate where Self == Metrics {
    /// Measures each pass; see ``Metrics/init(_:exposition:)``.
    public static func metrics(_ store: MetricsStore) -> Self { Metrics(store) }
}
