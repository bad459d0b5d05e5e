// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Records each request that passes through the gate, by the semantic conventions of OpenTelemetry.
///
/// Inside a retry gate, the gate measures attempts, as OpenTelemetry defines
/// `http.client.request.duration`. As the outermost gate, the gate measures calls.
public struct Metrics: MetricsRecorder {
    private let store: MetricsStore
    private let exposition: (@Sendable (String) async -> Void)?

    /// Creates a gate that records into a store.
    /// - Parameters:
    ///   - store: The store, which several gates may share.
    ///   - exposition: A closure that receives the store as Prometheus text when the client is shut
    ///     down.
    public init(_ store: MetricsStore, exposition: (@Sendable (String) async -> Void)? = nil) {
        self.store = store
        self.exposition = exposition
    }

    /// Passes the store as Prometheus text to `exposition`.
    public func shutdown() async { await exposition?(store.prometheusText) }

    /// States that the gate records each request, with a bounded number of labels.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts("records each request", .measures(hasBoundedLabels: true))
    }

    /// Counts a request that enters the gate.
    public func passBegins(_ request: Request) { store.begin(request) }

    /// Records a request that has ended.
    public func record(_ measurement: CallMeasurement) { store.record(measurement) }
}

extension Gate where Self == Metrics {
    /// Records each request; see ``Metrics/init(_:exposition:)``.
    public static func metrics(_ store: MetricsStore) -> Self { Metrics(store) }
}
