// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// The metrics files of all clients of one registry.
///
/// A file has one output, however many gates, stacks and clients name it, so that none overwrites
/// the figures of another.
final class MetricsFiles: Sendable {
    private let queue = DispatchQueue(label: "turnpike.metrics", qos: .utility)
    // One for each file that a stack file names.
    private let outputs = Mutex<[String: MetricsOutput]>([:])
    private let faults: OutputFaults

    init(_ faults: OutputFaults) { self.faults = faults }

    func output(at path: String) -> MetricsOutput {
        let path = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
        return outputs.withLock { outputs in
            if let known = outputs[path] { return known }
            let new = MetricsOutput(path: path, faults: faults, queue: queue)
            outputs[path] = new
            return new
        }
    }
}

extension Settings {
    /// The metrics output that a key names: a file, or the stack's output on standard error.
    func metricsOutput(_ key: String, default fallback: String) -> MetricsOutput {
        metricsOutput(at: string(key) ?? fallback, key)
    }

    private func metricsOutput(at place: String, _ key: String) -> MetricsOutput {
        if place.hasPrefix(Self.meterPrefix) {
            issue(
                at: key, "found a meter, which receives no passes; expected a file or \"stderr\"")
        }
        if isDryRun { return MetricsOutput(path: nil) }
        // Checked now, because the file is written at a time when no error can be reported.
        if place != "stderr", !PrivateFile.canPut(to: place) {
            issue(at: key, "the file cannot be written")
        }
        if place != "stderr" {
            let faults = common("outputFaults") { OutputFaults() }
            return common("metricsFiles") { MetricsFiles(faults) }.output(at: place)
        }
        return shared("metrics", for: place) { MetricsOutput(path: nil) }
    }

    /// The meter of a gate or a transport: its setting `metrics` names a place, as `to` of
    /// ``/TurnpikeMiddleware/Metrics`` does, or a meter of the program, as `meter:NAME`
    /// (``Registry/register(meter:as:)``).
    ///
    /// If the gate has an `id`, its figures have the `id` as a label. The gate must call
    /// ``/TurnpikeCore/GateMeter/flush()`` when it is shut down, so that all figures are written.
    /// - Returns: The meter, or nil if the setting is missing.
    public func meter() -> (any GateMeter)? {
        guard let place = string("metrics") else { return nil }
        let meter: any GateMeter
        if place.hasPrefix(Self.meterPrefix) {
            guard let registered = registeredMeter("metrics") else { return nil }
            meter = registered
        } else {
            meter = MetricsHold(metricsOutput(at: place, "metrics"))
        }
        return string("id").map { meter.labelled(gate: $0) } ?? meter
    }

    /// Returns the meter that a key names as `meter:NAME` (``Registry/register(meter:as:)``).
    ///
    /// A name that is not registered is recorded as a mistake.
    /// - Returns: The meter; nil if the key names none.
    private func registeredMeter(_ key: String) -> (any GateMeter)? {
        guard let text = string(key), text.hasPrefix(Self.meterPrefix) else { return nil }
        let name = String(text.dropFirst(Self.meterPrefix.count))
        if let meter = meters[name] { return meter }
        // A referenced value may be a secret.
        let isShown = value(key)?.string != nil
        let shown = isShown ? "\"\(Grammar.escaped(name, upTo: 100))\"" : "the referenced name"
        let hint = isShown ? NearMiss.hint(for: name, among: meters.keys) : ""
        issue(at: key, "found \(shown); expected the name of a meter that is registered\(hint)")
        return nil
    }

    /// The start of a value that names a registered meter.
    private static var meterPrefix: String { "meter:" }
}
