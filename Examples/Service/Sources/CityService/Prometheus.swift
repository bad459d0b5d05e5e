// SPDX-License-Identifier: Apache-2.0
import Metrics
import Synchronization

/// Stores the figures of swift-metrics, and renders them in the text format of Prometheus.
///
/// For your own service, use a finished back end such as swift-prometheus. This one is short enough
/// to read. Its memory is bounded because the labels are: the server's middleware and the bridge of
/// Turnpike have a fixed set of labels, without queries or paths.
final class Prometheus: MetricsFactory {
    private struct Identity: Hashable { let name, labels: String }

    private let series = Mutex<[Identity: Series]>([:])

    /// The answer to `/metrics`.
    var text: String {
        let all = series.withLock { $0 }.sorted {
            ($0.key.name, $0.key.labels) < ($1.key.name, $1.key.labels)
        }
        var (text, family) = ("", "")
        for (identity, series) in all {
            if identity.name != family {
                family = identity.name
                let number = family.hasSuffix("_total") ? "counter" : "gauge"
                text += "# TYPE \(family) \(series.isHistogram ? "histogram" : number)\n"
            }
            text += series.lines(identity.name, identity.labels)
        }
        return text
    }

    /// The sum of all series with a name.
    func total(_ name: String) -> Double {
        series.withLock { $0 }.reduce(0) { $1.key.name == name ? $0 + $1.value.number : $0 }
    }

    private func find(
        _ label: String, _ suffix: String, _ labels: [(String, String)], bounds: [Double]? = nil
    ) -> Series {
        var name = Self.escaped(label)
        if !name.hasSuffix(suffix) { name += suffix }
        // A label without a value is left out.
        let labels = labels.filter { !$0.1.isEmpty }.map { name, value in
            let value = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            return "\(Self.escaped(name))=\"\(value.replacing("\n", with: "\\n"))\""
        }
        let identity = Identity(name: name, labels: labels.sorted().joined(separator: ","))
        return series.withLock { all in
            if let known = all[identity] { return known }
            let made = Series(bounds)
            all[identity] = made
            return made
        }
    }

    private static func escaped(_ name: String) -> String {
        name.replacing(/[^a-zA-Z0-9_]/, with: "_")
    }

    // MARK: The factory's methods

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        find(label, "_total", dimensions)
    }

    func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler { find(label, "_total", dimensions) }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        find(label, "", dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        // The bounds that OpenTelemetry recommends for the durations of requests.
        let bounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
        return find(label, "_seconds", dimensions, bounds: bounds)
    }

    func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        let bounds = aggregate ? [64, 512, 4096, 32_768, 262_144, 2_097_152].map(Double.init) : nil
        return find(label, label.hasSuffix(".size") ? "_bytes" : "", dimensions, bounds: bounds)
    }

    // Nothing is removed, because a counter that begins again looks like a restart.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
}

/// One series: a number, or a histogram with counts for its bounds.
private final class Series: CounterHandler, FloatingPointCounterHandler, MeterHandler,
    RecorderHandler, TimerHandler
{
    private let bounds: [Double]?
    private let state: Mutex<(sum: Double, counts: [Int])>

    init(_ bounds: [Double]?) {
        self.bounds = bounds
        state = Mutex((0, Array(repeating: 0, count: (bounds?.count ?? 0) + 1)))
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
        state.withLock { state in
            state.sum += value
            state.counts[bucket] += 1
        }
    }

    func lines(_ name: String, _ labels: String) -> String {
        let (sum, counts) = state.withLock { $0 }
        let set = labels.isEmpty ? "" : "{\(labels)}"
        guard let bounds else { return "\(name)\(set) \(sum)\n" }
        var (text, count) = ("", 0)
        for (bound, number) in zip(bounds.map(\.description) + ["+Inf"], counts) {
            count += number
            let separator = labels.isEmpty ? "" : ","
            text += "\(name)_bucket{\(labels)\(separator)le=\"\(bound)\"} \(count)\n"
        }
        return text + "\(name)_sum\(set) \(sum)\n\(name)_count\(set) \(count)\n"
    }
}
