// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport

/// A store and the place that its text is written to: a file, which is rewritten as a whole each
/// time, or standard error.
final class MetricsOutput: Sendable {
    let store = MetricsStore()
    private let path: String?
    private let faults: OutputFaults?
    private let queue: DispatchQueue
    private let flushLimit: Duration
    // The text that was written last.
    private let written = Mutex("")

    /// Creates an output.
    /// - Parameters:
    ///   - path: The file; nil means standard error.
    ///   - faults: Takes what keeps the file from being written.
    ///   - queue: A serial queue to write from.
    ///   - flushLimit: How long a flush waits for a place that accepts nothing, such as standard
    ///     error without a reader.
    init(
        path: String?, faults: OutputFaults? = nil,
        queue: DispatchQueue = DispatchQueue(label: "turnpike.metrics"),
        flushLimit: Duration = .seconds(5)
    ) {
        self.path = path
        self.faults = faults
        self.queue = queue
        self.flushLimit = flushLimit
    }

    /// Returns when the text is written, or after the limit.
    func flush() async { await queue.run(within: flushLimit) { self.write() } }

    /// Writes the text in the background, if there is any measurement.
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
            // No call is running, so none could fail.
            if let path { faults?.record(path, error) }
        }
    }
}

/// A gate's handle on an output, which is written when the gate goes away, in a reload for
/// instance.
final class MetricsHold: GateMeter {
    let output: MetricsOutput
    // A decrease of a gauge after the client's end needs no write. An increase does, because
    // another client may share the output.
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
