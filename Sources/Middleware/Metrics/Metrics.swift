// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Records each pass in a store, with the names and buckets of OpenTelemetry's semantic
/// conventions.
///
/// Placed inside a retry, it measures attempts, which is the meaning of
/// `http.client.request.duration`. Placed outermost, it measures calls.
public struct Metrics: MetricsRecorder {
    private let store: MetricsStore
    private let exposition: (@Sendable (String) -> Void)?
    private let hold: MetricsHold?

    /// Creates a gate that records into a store, which may be shared.
    /// - Parameters:
    ///   - store: The store.
    ///   - exposition: Receives the store as Prometheus text when the client is shut down.
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

    /// Passes the store's text to `exposition`, and writes the output that a stack file names.
    public func shutdown() async {
        exposition?(store.prometheusText)
        await hold?.flush()
    }

    /// What is true of this gate; see ``/TurnpikeCore/GateFacts``.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts("records each pass", .measures(hasBoundedLabels: true))
    }

    /// Counts a pass that begins.
    public func passBegins(_ request: Request) { store.begin(request) }

    /// Records a pass.
    public func record(_ measurement: CallMeasurement) { store.record(measurement) }
}

extension Metrics {
    init(settings: Settings) {
        self.init(settings.metricsOutput("to", default: "stderr"))
    }
}

extension Gate where Self == Metrics {
    /// Records each pass; see ``Metrics/init(_:exposition:)``.
    public static func metrics(_ store: MetricsStore) -> Self { Metrics(store) }
}
