// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore

/// Keeps traces of a client's calls: all failed and slow calls, and a share of the other calls.
///
/// ```swift
/// let traces = TraceStore(sampling: 0.01, slowerThan: .seconds(2))
/// let client = Client(baseURL: base, trace: traces)
/// for trace in traces.traces { print(trace.id, trace.spans.count) }
/// ```
///
/// Each call of the client is recorded, because only at its end it is known whether the call was
/// slow or failed. Recording costs about a microsecond for each gate. A failure is an error that
/// the caller gets, a body that breaks off, or a status from 400 on. A cancelled call is not a
/// failure.
///
/// The number of calls and of bytes in the store is bounded. New traces replace the oldest traces.
/// Several clients may use one store.
public final class TraceStore: CallReader {
    private struct State {
        var lastNumber: UInt64 = 0
        // The running calls, by number; weak, because a call ends when nothing refers to it.
        var running: [UInt64: Running] = [:]
        // The stored traces, in the order in which their calls ended, with their sizes.
        var kept: [(number: UInt64, trace: Trace, bytes: Int)] = []
        var bytes = 0
    }

    private struct Running {
        weak var recorder: TraceRecorder?
    }

    /// The share of the calls that are stored although they neither failed nor were slow, 0 to 1.
    public let sampling: Double
    /// A call that takes longer is stored as slow; nil for no such rule.
    public let slowerThan: Duration?
    /// The maximum number of stored calls.
    public let maxCalls: Int
    /// The approximate memory limit of the stored traces, in bytes.
    public let maxBytes: Int
    let redaction: Redaction
    private let state = Mutex(State())

    /// Creates a store.
    /// - Parameters:
    ///   - sampling: The share of the calls that are stored although they neither failed nor were
    ///     slow, 0 to 1. The call's own random share decides (``/TurnpikeCore/CallRandom/share``),
    ///     as in the sampling of logs. So with equal shares, the same calls are logged and traced.
    ///   - slowerThan: A call that takes longer, including its body, is stored; nil for no such
    ///     rule.
    ///   - maxCalls: The maximum number of stored calls, at least 1.
    ///   - maxBytes: The approximate memory limit of the stored traces, in bytes. The newest trace
    ///     (at most about 64 KiB) is always stored.
    ///   - redaction: The rules for hiding secrets in the traces, before they are stored.
    public init(
        sampling: Double = 1, slowerThan: Duration? = nil, maxCalls: Int = 256,
        maxBytes: Int = 4_194_304, redaction: Redaction = .standard
    ) {
        self.sampling = sampling
        self.slowerThan = slowerThan
        self.maxCalls = max(maxCalls, 1)
        self.maxBytes = max(maxBytes, 0)
        self.redaction = redaction
    }

    /// The stored traces and the traces so far of running calls, in the order in which the calls
    /// began.
    ///
    /// An endless call, such as a stream, is listed while it runs, but only the oldest ``maxCalls``
    /// running calls are listed.
    public var traces: [Trace] {
        let (kept, running) = state.withLock { state in
            (state.kept, state.running.sorted { $0.key < $1.key }.prefix(maxCalls))
        }
        // Redacting the traces of running calls takes time, so the lock is not held here.
        let present = running.compactMap { number, running -> (UInt64, Trace)? in
            guard let trace = running.recorder?.trace, !trace.isComplete else { return nil }
            return (number, trace)
        }
        return (kept.map { ($0.number, $0.trace) } + present).sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// Removes the stored traces; running calls stay.
    public func removeAll() {
        state.withLock { state in
            state.kept = []
            state.bytes = 0
        }
    }

    /// Does nothing, because each call has its own reader.
    public func read(_ step: CallStep, in context: Context) {}

    /// Returns the recorder of a call.
    public func reader(beside others: [any CallReader]) -> (any CallReader)? {
        TraceRecorder(for: self)
    }

    // MARK: The recorder's side

    var needsShare: Bool { sampling > 0 && sampling < 1 }

    func begin(_ recorder: TraceRecorder) -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            state.running[state.lastNumber] = Running(recorder: recorder)
            return state.lastNumber
        }
    }

    func keeps(_ trace: RecordedTrace, share: Double?) -> Bool {
        let call = trace.spans[0]
        switch call.outcome {
        case .failed: return true
        case .returned(let status?) where status.code >= 400: return true
        default: break
        }
        if let slowerThan, let end = call.end, call.start.duration(to: end) >= slowerThan {
            return true
        }
        return sampling >= 1 || share.map { $0 < sampling } ?? false
    }

    func end(_ number: UInt64, _ trace: Trace?) {
        let bytes = trace?.byteCount ?? 0
        state.withLock { state in
            state.running[number] = nil
            guard let trace else { return }
            state.kept.append((number, trace, bytes))
            state.bytes += bytes
            var surplus = 0
            while state.kept.count - surplus > maxCalls
                || state.bytes > maxBytes && state.kept.count - surplus > 1
            {
                state.bytes -= state.kept[surplus].bytes
                surplus += 1
            }
            state.kept.removeFirst(surplus)
        }
    }
}
