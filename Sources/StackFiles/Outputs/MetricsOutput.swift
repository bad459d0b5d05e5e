// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
public import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport

/// A store and the destination of its text: standard error, or a file that each write replaces.
final class MetricsOutput: Sendable {
    let store = MetricsStore()
    private let path: String?
    private let faults: OutputFaults?
    let queue: DispatchQueue
    private let flushLimit: Duration
    // The text that was written last.
    private let written = Mutex("")

    /// One queue serves all files, because a new output for a file must write after the old output.
    static let filesQueue = DispatchQueue(label: "turnpike.metrics", qos: .utility)
    // Standard error may block for ever.
    static let errorQueue = DispatchQueue(label: "turnpike.metrics.stderr", qos: .utility)

    // If the path is nil, the output is standard error. If the destination blocks, such as standard
    // error without a reader, a flush ends after `flushLimit`.
    init(
        path: String?, faults: OutputFaults? = nil,
        queue: DispatchQueue? = nil,
        flushLimit: Duration = .seconds(5)
    ) {
        self.path = path
        self.faults = faults
        self.queue = queue ?? (path == nil ? Self.errorQueue : Self.filesQueue)
        self.flushLimit = flushLimit
    }

    func flush() async { await queue.run(within: flushLimit) { self.write() } }

    func flushLater() {
        if store.isEmpty { return }
        queue.async { self.write() }
    }

    private func write() {
        let text = store.prometheusText
        guard written.withLock({ $0 != text }) else { return }
        do {
            if let path {
                try PrivateFile.put(Data(text.utf8), to: path)
                faults?.record(path, nil)
            } else {
                try FileHandle.standardError.write(contentsOf: Data(text.utf8))
            }
            written.withLock { $0 = text }
        } catch {
            // The error is only recorded, because no call is running that could fail.
            if let path { faults?.record(path, error) }
        }
    }
}

/// The reference of a gate to an output.
///
/// When the gate is released, for instance by a reload, the output is written.
final class MetricsHold: GateMeter {
    let output: MetricsOutput
    // After the end of the client, the decrease of a gauge needs no write. An increase needs a
    // write, because another client may share the output.
    private let isFlushed = Atomic(false)

    init(_ output: MetricsOutput) { self.output = output }

    func describe(_ name: String, as help: String) { output.store.describe(name, as: help) }

    func add(_ amount: Double, to name: String, labels: [String: String]) {
        isFlushed.store(false, ordering: .relaxed)
        output.store.add(amount, to: name, labels: labels)
    }

    func change(_ name: String, by amount: Double, labels: [String: String]) {
        if amount > 0 { isFlushed.store(false, ordering: .relaxed) }
        output.store.change(name, by: amount, labels: labels)
    }

    func record(_ duration: Duration, to name: String, labels: [String: String]) {
        isFlushed.store(false, ordering: .relaxed)
        output.store.record(duration, to: name, labels: labels)
    }

    func flush() async {
        isFlushed.store(true, ordering: .relaxed)
        await output.flush()
    }

    deinit { if !isFlushed.load(ordering: .relaxed) { output.flushLater() } }
}

extension Settings {
    /// Returns the metrics output that a setting names: a file, or standard error.
    func metricsOutput(_ key: String, default fallback: String) -> MetricsOutput {
        metricsOutput(at: string(key) ?? fallback, key)
    }

    private func metricsOutput(at place: String, _ key: String) -> MetricsOutput {
        if place.hasPrefix(Self.meterPrefix) {
            issue(
                at: key, "found a meter, which records no requests; expected a file or \"stderr\"")
        }
        if isDryRun { return MetricsOutput(path: nil) }
        // The check is here, because later writes of the file cannot report an error.
        if place != "stderr", !PrivateFile.canPut(to: place) {
            issue(at: key, "the file cannot be written")
        }
        if place != "stderr" {
            // All gates, stacks and clients that name the same file share one output, and do not
            // overwrite each other's figures.
            let faults = common("outputFaults") { OutputFaults() }
            let path = URL(filePath: place).standardizedFileURL.path(percentEncoded: false)
            return common("metrics \(path)") { MetricsOutput(path: path, faults: faults) }
        }
        return shared("metrics", for: place) { MetricsOutput(path: nil) }
    }

    /// Returns the meter of a gate or a transport.
    ///
    /// The setting `metrics` names a file or `"stderr"`, like `to` of
    /// ``/TurnpikeMiddleware/Metrics``. `meter:NAME` names a meter of the program
    /// (``Registry/register(meter:as:)``). If the gate has an `id`, the figures have the `id` as a
    /// label. At shutdown, the gate must call ``/TurnpikeCore/GateMeter/flush()``, which writes all
    /// figures.
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

    // Returns the meter that a setting names as `meter:NAME` (``Registry/register(meter:as:)``), or
    // nil if the setting names no meter. If the name is not registered, the method records a
    // mistake.
    private func registeredMeter(_ key: String) -> (any GateMeter)? {
        guard let text = string(key), text.hasPrefix(Self.meterPrefix) else { return nil }
        let name = String(text.dropFirst(Self.meterPrefix.count))
        if let meter = reading.meters[name] { return meter }
        // The value of a reference may be a secret.
        let isShown = value(key)?.string != nil
        let shown = isShown ? "\"\(Grammar.escaped(name, upTo: 100))\"" : "the referenced name"
        let hint = isShown ? NearMiss.hint(for: name, among: reading.meters.keys) : ""
        issue(at: key, "found \(shown); expected the name of a meter that is registered\(hint)")
        return nil
    }

    private static var meterPrefix: String { "meter:" }
}

/// The log and metrics files of one registry that could not be written.
final class OutputFaults: Sendable {
    private let reasons = Mutex<[String: String]>([:])

    func record(_ path: String, _ fault: (any Error)?) {
        let reason = fault.map { ($0 as? FileFault)?.description ?? $0.localizedDescription }
        reasons.withLock { $0[path] = reason }
    }

    var texts: [String] {
        reasons.withLock { $0.map { "\($0): \($1)" }.sorted() }
    }
}

extension Registry {
    /// The reasons why log and metrics files of this registry's stack files could not be written,
    /// with the paths.
    ///
    /// The list is empty if the last write of each file has succeeded. The files are written in the
    /// background, and at the shutdown of their clients. No call fails if a line or a figure cannot
    /// be written. A program that needs the files checks this property after the shutdown of the
    /// clients.
    public var unwrittenFiles: [String] {
        common.value("outputFaults") { OutputFaults() }.texts
    }
}

/// The objects that write the files of stack files, such as cookie jars.
///
/// Only one object at a time writes a file, because two objects would overwrite each other's
/// content.
final class FileKeepers<Keeper: AnyObject & Sendable>: Sendable {
    private struct Reference { weak let keeper: Keeper? }

    private let references = Mutex<[String: Reference]>([:])

    /// Returns the object for a file, or a new object if the file is not in use.
    func keeper(at path: String, _ make: () throws -> Keeper) rethrows -> Keeper {
        // A link and its target are the same file.
        let path = URL(filePath: path).standardizedFileURL.resolvingSymlinksInPath()
            .path(percentEncoded: false)
        return try references.withLock { references in
            if let known = references[path]?.keeper { return known }
            let new = try make()
            references = references.filter { $0.value.keeper != nil }
            references[path] = Reference(keeper: new)
            return new
        }
    }
}
