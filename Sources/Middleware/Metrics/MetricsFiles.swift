import Dispatch
import Foundation
import Synchronization
public import TurnpikeCore

/// The files that the gates of one registry's clients measure into: one output for each, however
/// many gates, stacks and clients name it, so that none overwrites what another measured.
final class MetricsFiles: Sendable {
    private let queue = DispatchQueue(label: "turnpike.metrics", qos: .utility)
    // Grows by the files that stack files name, which exist then.
    private let outputs = Mutex<[String: MetricsOutput]>([:])

    func output(at path: String) -> MetricsOutput {
        let path = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
        return outputs.withLock { outputs in
            if let known = outputs[path] { return known }
            let new = MetricsOutput(path: path, queue: queue)
            outputs[path] = new
            return new
        }
    }
}

extension Settings {
    /// The output of what a gate measures, which a key names: that of a file, or the stack's on
    /// standard error.
    func metricsOutput(_ key: String, default fallback: String) -> MetricsOutput {
        metricsOutput(at: string(key) ?? fallback, key)
    }

    private func metricsOutput(at place: String, _ key: String) -> MetricsOutput {
        if isDryRun { return MetricsOutput(path: nil) }
        // It is written when nobody is left to be told.
        if place != "stderr", !PrivateFile.canPut(to: place) {
            issue(at: key, "the file cannot be written")
        }
        if place != "stderr" { return common("metricsFiles") { MetricsFiles() }.output(at: place) }
        return shared("metrics", for: place) { MetricsOutput(path: nil) }
    }

    /// What a gate tells its figures: `metrics` names a place as `to` of ``Metrics`` does.
    ///
    /// Where the gate has an `id`, its figures are labelled with that. The gate calls
    /// ``GateMeter/flush()`` when it is shut down, so that the place has them all.
    /// - Returns: The meter, or nil where there is no such setting.
    public func meter() -> (any GateMeter)? {
        guard let place = string("metrics") else { return nil }
        let meter = MetricsHold(metricsOutput(at: place, "metrics"))
        return string("id").map { meter.labelled(gate: $0) } ?? meter
    }
}
