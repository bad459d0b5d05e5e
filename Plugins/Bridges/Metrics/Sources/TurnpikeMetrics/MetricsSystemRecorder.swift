// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
import Synchronization
public import TurnpikeEssentials
import TurnpikeSupport

/// Records requests and metrics of gates in swift-metrics, with OpenTelemetry's names for HTTP
/// clients.
///
/// The recorder is a gate, like `Metrics`, and a meter for other gates. Inside a retry, the
/// recorder measures attempts, as the definition of `http.client.request.duration` requires. As the
/// outermost gate, the recorder measures calls.
///
/// ```swift
/// let recorder = MetricsSystemRecorder()  // after MetricsSystem.bootstrap
/// let client = Client(baseURL: "https://api.example.com/", stack: [
///     .deadline(), .validate(), .retry(), .circuitBreaker(meter: recorder), .metrics(recorder),
/// ])
/// ```
///
/// | metric | instrument | dimensions |
/// |---|---|---|
/// | `http.client.request.duration` | `Timer`, which displays seconds | `MetricLabels.names` |
/// | `http.client.request.body.size`, `http.client.response.body.size` | `Recorder`, aggregating, in bytes | the same |
/// | `http.client.request.resends` (not in the conventions) | `Counter` | the same |
/// | `http.client.active_requests` | `Meter` | method, address, port |
/// | counters of gates | `FloatingPointCounter` | labels of the figure, server, `turnpike.gate.id` |
/// | gauges of gates | `Meter` | the same |
/// | durations of gates and transports, such as `http.client.connection.duration` | `Timer`, which displays seconds | the same |
///
/// The size of a response is the number of transferred bytes of content, before decoding. If the
/// transport does not know this number, the size after decoding is recorded. If a request fails
/// before the response is returned, no size is recorded.
///
/// All series of a metric have the same dimensions in the same order, because some back ends
/// (swift-prometheus 2.0) end the process for other series. A dimension without a value is an empty
/// string, which Prometheus treats as an absent label. A name keeps the first kind (counter, gauge
/// or timer). A gate's metric cannot have the name of one of the metrics above. A label that the
/// first series of a gate's metric did not have is omitted, except `turnpike.gate.id` and the
/// labels of the server.
///
/// The number of dimensions is limited, for any names of peers and paths. Servers beyond
/// `maxServers` share the address `_OTHER`. All series beyond `maxSeries` are one series.
///
/// The back end keeps the instruments after the release of the recorder, because another recorder
/// may use the instruments, and the loss of a counter looks like a restart. Create one recorder for
/// each factory.
public final class MetricsSystemRecorder: MetricsRecorder {
    private let passes: Mutex<PassInstruments>
    private let figures: Mutex<FigureInstruments>

    /// Creates a recorder.
    /// - Parameters:
    ///   - factory: Creates the instruments. The default is the current factory of the process,
    ///     which must be bootstrapped first.
    ///   - maxServers: The maximum number of servers with their own dimensions.
    ///   - maxSeries: The maximum number of series of requests, and of gates.
    public init(
        factory: any MetricsFactory = MetricsSystem.factory, maxServers: Int = 100,
        maxSeries: Int = 1000
    ) {
        passes = Mutex(
            PassInstruments(factory: factory, maxServers: maxServers, maxSeries: maxSeries))
        figures = Mutex(FigureInstruments(factory: factory, maxSeries: maxSeries))
    }

    /// Counts a request at the arrival in the gate.
    public func passBegins(_ request: Request) {
        passes.withLock { $0.active(request.method, request.origin) }.increment(by: 1)
    }

    /// Records a measured request.
    public func record(_ measurement: CallMeasurement) {
        let (active, series) = passes.withLock {
            ($0.active(measurement.method, measurement.origin), $0.series(of: measurement))
        }
        active.decrement(by: 1)
        series.duration.recordNanoseconds(measurement.duration.wholeNanoseconds)
        if let size = measurement.responseBodyBytes { series.responseSize?.record(size) }
        if let size = measurement.requestBodyBytes, size > 0 { series.requestSize?.record(size) }
        if measurement.resends > 0 { series.resends?.increment(by: Int64(measurement.resends)) }
    }

    /// Reports that the gate records requests, with a limited number of labels.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts("records each pass with swift-metrics", .measures(hasBoundedLabels: true))
    }
}

extension MetricsSystemRecorder: GateMeter {
    /// Adds to a counter.
    ///
    /// An amount that is negative, infinite or not a number is ignored.
    public func add(_ amount: Double, to name: String, labels: [String: String]) {
        guard amount >= 0, amount.isFinite else { return }
        let figure = GateFigure(name: name, kind: .counter, labels: labels)
        guard case .counter(let counter)? = figures.withLock({ $0.instrument(for: figure) })
        else { return }
        // An amount of zero only creates the counter.
        if amount > 0 { counter.increment(by: amount) }
    }

    /// Changes a gauge.
    ///
    /// An amount that is infinite or not a number is ignored.
    public func change(_ name: String, by amount: Double, labels: [String: String]) {
        guard amount.isFinite else { return }
        let figure = GateFigure(name: name, kind: .gauge, labels: labels)
        guard case .gauge(let gauge)? = figures.withLock({ $0.instrument(for: figure) })
        else { return }
        if amount > 0 { gauge.increment(by: amount) }
        if amount < 0 { gauge.decrement(by: -amount) }
    }

    /// Records a duration.
    public func record(_ duration: Duration, to name: String, labels: [String: String]) {
        let figure = GateFigure(name: name, kind: .histogram, labels: labels)
        guard case .histogram(let timer)? = figures.withLock({ $0.instrument(for: figure) })
        else { return }
        timer.recordNanoseconds(duration.wholeNanoseconds)
    }
}

extension Gate where Self == MetricsSystemRecorder {
    /// Records with swift-metrics; see
    /// ``MetricsSystemRecorder/init(factory:maxServers:maxSeries:)``.
    public static func metrics(_ recorder: MetricsSystemRecorder) -> Self { recorder }
}
