import CoreMetrics
import Synchronization

/// Keeps the figures of swift-metrics and renders them in Prometheus' text format.
///
/// A service of your own takes a finished back end, such as swift-prometheus. This one is small
/// enough to be read: names become `http_client_request_duration_seconds`, and durations and sizes
/// become histograms. Its memory is bounded by those who make the labels: the bridge of Turnpike
/// and the server's middleware know a fixed set of them, and never a path or a query.
final class Prometheus: MetricsFactory {
    private struct Identity: Hashable { let name, labels: String }

    private let series = Mutex<[Identity: Series]>([:])

    // MARK: What a scraper reads

    var text: String {
        let all = series.withLock { $0 }.sorted {
            ($0.key.name, $0.key.labels) < ($1.key.name, $1.key.labels)
        }
        var text = ""
        var family = ""
        for (identity, series) in all {
            if identity.name != family {
                family = identity.name
                text += "# TYPE \(family) \(series.isHistogram ? "histogram" : kind(of: family))\n"
            }
            text += series.lines(identity.name, identity.labels)
        }
        return text
    }

    /// The sum of all series of a name.
    func total(_ name: String) -> Double {
        series.withLock { $0 }.reduce(0) { $1.key.name == name ? $0 + $1.value.number : $0 }
    }

    private func kind(of name: String) -> String { name.hasSuffix("_total") ? "counter" : "gauge" }

    // MARK: What swift-metrics asks for

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        find(label, "_total", dimensions)
    }

    func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        find(label, "_total", dimensions)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        find(label, "", dimensions)
    }

    func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        if !aggregate { return find(label, "", dimensions) }
        return label.hasSuffix(".size")
            ? find(label, "_bytes", dimensions, buckets: (0..<8).map { Double(64 << (2 * $0)) })
            : find(label, "_seconds", dimensions, buckets: Series.seconds)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        find(label, "_seconds", dimensions, buckets: Series.seconds)
    }

    // A gate that goes away destroys its gauges; counters stay, because a scraper adds them up.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {
        series.withLock { all in all = all.filter { $0.value !== handler } }
    }

    private func find(
        _ label: String, _ suffix: String, _ labels: [(String, String)], buckets: [Double]? = nil
    ) -> Series {
        var name = Self.escaped(label)
        if !name.hasSuffix(suffix) { name += suffix }
        // A label without a value is none.
        let labels = labels.filter { !$0.1.isEmpty }.map { name, value in
            let value = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            return "\(Self.escaped(name))=\"\(value.replacing("\n", with: "\\n"))\""
        }
        let identity = Identity(name: name, labels: labels.sorted().joined(separator: ","))
        return series.withLock { all in
            if let known = all[identity] { return known }
            let made = Series(buckets)
            all[identity] = made
            return made
        }
    }

    private static func escaped(_ name: String) -> String {
        name.replacing(/[^a-zA-Z0-9_]/, with: "_")
    }
}

/// One series: a number, or how many values fell below each bound.
private final class Series: CounterHandler, FloatingPointCounterHandler, MeterHandler,
    RecorderHandler, TimerHandler
{
    /// The bounds that OpenTelemetry gives the durations of requests.
    static let seconds = [
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]

    private struct State {
        var sum = 0.0
        var counts: [Int]
    }

    private let bounds: [Double]?
    private let state: Mutex<State>

    init(_ bounds: [Double]?) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: (bounds?.count ?? -1) + 1)))
    }

    var isHistogram: Bool { bounds != nil }
    var number: Double { state.withLock { $0.sum } }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { state.withLock { $0.sum += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0.sum = value } }
    func reset() { set(0.0) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) {
        guard let bounds else { return set(value) }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock {
            $0.sum += value
            $0.counts[bucket] += 1
        }
    }

    func lines(_ name: String, _ labels: String) -> String {
        let state = state.withLock { $0 }
        let set = labels.isEmpty ? "" : "{\(labels)}"
        guard let bounds else { return "\(name)\(set) \(state.sum)\n" }
        var count = 0
        var text = ""
        for (bound, number) in zip(bounds.map(\.description) + ["+Inf"], state.counts) {
            count += number
            let separator = labels.isEmpty ? "" : ","
            text += "\(name)_bucket{\(labels)\(separator)le=\"\(bound)\"} \(count)\n"
        }
        return text + "\(name)_sum\(set) \(state.sum)\n\(name)_count\(set) \(count)\n"
    }
}
