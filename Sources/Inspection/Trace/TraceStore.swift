// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore

/// Stores traces of a client's calls: all failed and slow calls, and a share of the other calls.
///
/// ```swift
/// let traces = TraceStore(sampling: 0.01, slowerThan: .seconds(2))
/// let client = Client(baseURL: base, trace: traces)
/// for trace in traces.traces { print(trace.id, trace.spans.count) }
/// ```
///
/// The store records each call of the client, because only the end of a call shows whether the call
/// was slow or failed. The cost of recording is about a microsecond for each gate. A failure is an
/// error that the caller gets, a body that breaks off, or a status of 400 or above. A cancelled
/// call is not a failure.
///
/// The number of calls and of bytes in the store is bounded. New traces replace the oldest traces.
/// Several clients may use one store.
public final class TraceStore: CallReader {
    private struct State {
        var lastNumber: UInt64 = 0
        // The running calls by number; the references are weak, because a call ends when nothing
        // refers to the call.
        var running: [UInt64: Running] = [:]
        // The stored traces with their sizes, in the order in which the calls ended.
        var kept: [(number: UInt64, trace: Trace, bytes: Int)] = []
        var bytes = 0
    }

    private struct Running {
        weak var recorder: TraceRecorder?
    }

    /// The stored share, 0 to 1, of the calls that neither failed nor were slow.
    public let sampling: Double
    /// The duration above which a call is stored as slow, or nil if no call is stored as slow.
    public let slowerThan: Duration?
    /// The maximum number of stored calls.
    public let maxCalls: Int
    /// The approximate limit on the memory of the stored traces, in bytes.
    public let maxBytes: Int
    let redaction: Redaction
    private let state = Mutex(State())

    /// Creates a store.
    /// - Parameters:
    ///   - sampling: The stored share, 0 to 1, of the calls that neither failed nor were slow. The
    ///     random share of the call decides (``/TurnpikeCore/CallRandom/share``), as in the
    ///     sampling of logs. A call that is logged with the share 0.1 is therefore also traced with
    ///     the share 0.1.
    ///   - slowerThan: The duration, including the body, above which a call is stored; nil for no
    ///     such rule.
    ///   - maxCalls: The maximum number of stored calls, at least 1.
    ///   - maxBytes: The approximate limit on the memory of the stored traces, in bytes. The newest
    ///     trace (at most about 64 KiB) is always stored.
    ///   - redaction: The rules for hiding secrets in the traces.
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

    /// The stored traces and the traces of running calls, in the order of the starts of the calls.
    ///
    /// The list also contains calls without an end, such as a stream, but only the oldest
    /// ``maxCalls`` running calls.
    public var traces: [Trace] {
        let (kept, running) = state.withLock { state in
            (state.kept, state.running.sorted { $0.key < $1.key }.prefix(maxCalls))
        }
        // The lock is not held here, because hiding the secrets of running calls takes time.
        let present = running.compactMap { number, running -> (UInt64, Trace)? in
            guard let trace = running.recorder?.trace, !trace.isComplete else { return nil }
            return (number, trace)
        }
        return (kept.map { ($0.number, $0.trace) } + present).sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// Removes the stored traces, but not the traces of running calls.
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
