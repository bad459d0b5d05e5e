import Dispatch
import Foundation
import Synchronization
import TurnpikeCore

/// A store and the place that its text goes to: a file, which has the whole of it each time, or
/// standard error.
final class MetricsOutput: Sendable {
    let store = MetricsStore()
    private let path: String?
    private let queue: DispatchQueue
    // What was written last.
    private let written = Mutex("")

    /// Creates an output.
    /// - Parameters:
    ///   - path: The file; nil means standard error.
    ///   - queue: A serial queue to write from.
    init(path: String?, queue: DispatchQueue = DispatchQueue(label: "turnpike.metrics")) {
        self.path = path
        self.queue = queue
    }

    /// Returns when the text is out.
    func flush() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.write()
                continuation.resume()
            }
        }
    }

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
