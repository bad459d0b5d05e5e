package import Dispatch
import Foundation
import Synchronization
import TurnpikeCore

/// A store and the place that its text goes to: a file, which has the whole of it each time, or
/// standard error.
package final class MetricsOutput: Sendable {
    let store = MetricsStore()
    private let path: String?
    private let queue: DispatchQueue
    private let flushLimit: Duration
    // What was written last.
    private let written = Mutex("")

    /// Creates an output.
    /// - Parameters:
    ///   - path: The file; nil means standard error.
    ///   - queue: A serial queue to write from.
    ///   - flushLimit: How long a flush waits for a place that takes nothing, as standard error does
    ///     while nobody reads it.
    package init(
        path: String?, queue: DispatchQueue = DispatchQueue(label: "turnpike.metrics"),
        flushLimit: Duration = .seconds(5)
    ) {
        self.path = path
        self.queue = queue
        self.flushLimit = flushLimit
    }

    /// Returns when the text is out, or after the limit.
    package func flush() async { await queue.run(within: flushLimit) { self.write() } }

    /// Lets the text go out, where there is any measurement; nobody waits for that.
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
            } else {
                try FileHandle.standardError.write(contentsOf: Data(text.utf8))
            }
            written.withLock { $0 = text }
        } catch {
            // At the end of a client nobody is left to be told that its metrics cannot be written.
        }
    }
}

/// A gate's hold on an output: lets it go out when the gate is let go of, by a reload for instance.
final class MetricsHold: GateMeter {
    let output: MetricsOutput
    // What a gate takes back after its client's end is not news; what it adds is, for another
    // client may share it.
    private let isFlushed = Atomic(false)

    init(_ output: MetricsOutput) { self.output = output }

    func add(_ amount: Double, to name: String, labels: [String: String]) {
        isFlushed.store(false, ordering: .relaxed)
        output.store.add(amount, to: name, labels: labels)
    }

    func change(_ name: String, by amount: Double, labels: [String: String]) {
        if amount > 0 { isFlushed.store(false, ordering: .relaxed) }
        output.store.change(name, by: amount, labels: labels)
    }

    func flush() async {
        isFlushed.store(true, ordering: .relaxed)
        await output.flush()
    }

    deinit { if !isFlushed.load(ordering: .relaxed) { output.flushLater() } }
}
