// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Measurements in memory: histograms by bounded labels, the number of running requests, and the
/// figures of gates.
///
/// The number of labels is bounded. A method that is not registered counts as `_OTHER`. Servers and
/// series beyond a limit are counted together, under the address `_OTHER`.
public final class MetricsStore: Sendable {
    /// The measurements of all requests with the same labels.
    public struct Series: Sendable, Hashable {
        /// The histogram `http.client.request.duration`, in seconds.
        public internal(set) var duration = Histogram(bounds: Histogram.durationBounds)
        /// The histogram `http.client.request.body.size`, in bytes.
        public internal(set) var requestBodySize = Histogram(bounds: Histogram.sizeBounds)
        /// The histogram `http.client.response.body.size`, in bytes as transferred.
        ///
        /// The histogram contains only requests that got a response
        /// (``/TurnpikeCore/CallMeasurement/responseBodyBytes``).
        public internal(set) var responseBodySize = Histogram(bounds: Histogram.sizeBounds)
        /// The number of sends that repeated an earlier send of the same call: retries, redirects
        /// and replays.
        public internal(set) var resends = 0
    }

    private struct State {
        var series: [MetricLabels: Series] = [:]
        var servers: Set<String> = []
        var active: [MetricLabels: Int] = [:]
        var figures: [GateFigure: Double] = [:]
        var histograms: [GateFigure: Histogram] = [:]
        var help: [String: String] = [:]
        // The name of a figure in Prometheus never changes.
        var names = PrometheusNames.metrics(taken: ownNames)
        var labelNames = PrometheusNames.labels(first: MetricLabels.names)

        mutating func nameAll() {
            // The labels are sorted, because their order must be the same in each process.
            let all = Array(figures.keys) + histograms.keys
            for kind in [GateFigure.Kind.counter, .gauge, .histogram] {
                let figures = all.filter { $0.kind == kind }
                for name in Set(figures.map(\.name)).sorted() { _ = names.name(of: name, kind) }
            }
            let labels = all.reduce(into: Set()) { $0.formUnion($1.labels.keys) }
            for label in labels.sorted() { _ = labelNames.name(for: label) }
        }
    }

    struct Snapshot {
        let series: [MetricLabels: Series]
        /// This table keeps a zero for a series that was active earlier, because Prometheus treats
        /// a missing series as a lost target.
        let active: [MetricLabels: Int]
        let figures: [GateFigure: Double]
        let histograms: [GateFigure: Histogram]
        let help: [String: String]
        let names: PrometheusNames
        let labelNames: PrometheusNames
    }

    private let state = Mutex(State())
    private let maxServers: Int
    private let maxSeries: Int

    /// Creates an empty store.
    /// - Parameters:
    ///   - maxServers: The maximum number of servers with their own labels.
    ///   - maxSeries: The maximum number of series, and separately the maximum number of figures of
    ///     gates.
    public init(maxServers: Int = 100, maxSeries: Int = 1000) {
        self.maxServers = maxServers
        self.maxSeries = maxSeries
    }

    /// The series by their labels.
    public var series: [MetricLabels: Series] { state.withLock { $0.series } }

    /// The number of running requests, by method and server (`http.client.active_requests`).
    public var active: [MetricLabels: Int] {
        state.withLock { $0.active.filter { $0.value != 0 } }
    }

    /// The counters and gauges of gates and transports.
    public var figures: [GateFigure: Double] { state.withLock { $0.figures } }

    /// The durations that gates and transports have recorded, in seconds.
    public var histograms: [GateFigure: Histogram] { state.withLock { $0.histograms } }

    func snapshot() -> Snapshot {
        state.withLock { state in
            state.nameAll()
            return Snapshot(
                series: state.series, active: state.active, figures: state.figures,
                histograms: state.histograms, help: state.help, names: state.names,
                labelNames: state.labelNames)
        }
    }

    /// Whether the store contains no measurement.
    public var isEmpty: Bool {
        state.withLock { $0.series.isEmpty && $0.figures.isEmpty && $0.histograms.isEmpty }
    }

    func begin(_ request: Request) {
        let origin = request.origin
        state.withLock { state in
            let server = server(origin, &state)
            state.active[MetricLabels(method: request.method, server: server), default: 0] += 1
        }
    }

    func record(_ measurement: CallMeasurement) {
        state.withLock { state in
            let server = server(measurement.origin, &state)
            let active = MetricLabels(method: measurement.method, server: server)
            state.active[active, default: 0] -= 1
            var labels = MetricLabels(measurement, server: server)
            if state.series[labels] == nil, state.series.count >= maxSeries { labels = .overflow }
            var series = state.series[labels] ?? Series()
            series.duration.add(measurement.duration.inSeconds)
            if let size = measurement.requestBodyBytes, size > 0 {
                series.requestBodySize.add(Double(size))
            }
            if let size = measurement.responseBodyBytes {
                series.responseBodySize.add(Double(size))
            }
            series.resends += measurement.resends
            state.series[labels] = series
        }
    }

    private func server(_ origin: Origin?, _ state: inout State) -> MetricLabels.Server? {
        guard let origin else { return nil }
        let key = "\(origin.host):\(origin.port)"
        if !state.servers.contains(key) {
            guard state.servers.count < maxServers else { return nil }
            state.servers.insert(key)
        }
        return MetricLabels.Server(address: origin.host, port: origin.port)
    }
}

extension MetricsStore: GateMeter {
    /// Sets the help text of a figure, and replaces an earlier text.
    public func describe(_ name: String, as help: String) {
        state.withLock { state in
            if state.help[name] == nil, state.help.count >= maxSeries { return }
            state.help[name] = help
        }
    }

    /// Adds to a counter.
    public func add(_ amount: Double, to name: String, labels: [String: String]) {
        guard amount >= 0 else { return }
        change(GateFigure(name: name, kind: .counter, labels: labels), by: amount)
    }

    /// Adds an amount, which may be negative, to a gauge.
    public func change(_ name: String, by amount: Double, labels: [String: String]) {
        change(GateFigure(name: name, kind: .gauge, labels: labels), by: amount)
    }

    /// Adds a duration to a histogram.
    public func record(_ duration: Duration, to name: String, labels: [String: String]) {
        let figure = GateFigure(name: name, kind: .histogram, labels: labels)
        state.withLock { state in
            guard let figure = bounded(figure, in: state.histograms) else { return }
            state.histograms[figure, default: Histogram(bounds: Histogram.longDurationBounds)]
                .add(duration.inSeconds)
        }
    }

    private func change(_ figure: GateFigure, by amount: Double) {
        state.withLock { state in
            guard let figure = bounded(figure, in: state.figures) else { return }
            state.figures[figure, default: 0] += amount
        }
    }

    // Each name may have one extra figure for the series beyond the limit. If there are too many
    // extra figures, the store does not count figures with new names.
    private func bounded<Value>(
        _ figure: GateFigure, in table: [GateFigure: Value]
    ) -> GateFigure? {
        if table.count < maxSeries || table[figure] != nil { return figure }
        let overflow = figure.overflow
        return table.count < 2 * maxSeries || table[overflow] != nil ? overflow : nil
    }
}

extension GateFigure {
    /// All series beyond the limit share this key, with OpenTelemetry's label for an overflow.
    fileprivate var overflow: GateFigure {
        GateFigure(name: name, kind: kind, labels: ["otel.metric.overflow": "true"])
    }
}

/// Counts how many values are in each bucket.
public struct Histogram: Sendable, Hashable {
    /// The upper bounds of the buckets, in ascending order.
    ///
    /// One more bucket counts the values above the last bound.
    public let bounds: [Double]
    /// The number of values in each bucket.
    ///
    /// There is one more bucket than there are bounds.
    public private(set) var counts: [Int]
    /// The sum of all values.
    public private(set) var sum: Double = 0

    init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// The bounds that OpenTelemetry prescribes for `http.client.request.duration`, in seconds.
    static let durationBounds = [
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]

    // Bounds in seconds for the durations that gates and transports record; .NET prescribes the
    // same bounds for `http.client.connection.duration`.
    static let longDurationBounds = [
        0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
    ]

    /// Bounds for sizes in bytes: powers of eight from 64.
    static let sizeBounds = [
        64, 512, 4096, 32_768, 262_144, 2_097_152, 16_777_216, 134_217_728.0,
    ]

    /// The number of values.
    public var count: Int { counts.reduce(0, +) }

    mutating func add(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }

    // Returns the lowest bound that at least this share of the values does not exceed. If the share
    // includes values above the last bound, the result is infinity.
    func quantile(_ part: Double) -> Double {
        let wanted = (Double(count) * part).rounded(.up)
        var seen = 0
        for (index, bound) in bounds.enumerated() {
            seen += counts[index]
            if Double(seen) >= wanted { return bound }
        }
        return .infinity
    }
}
