// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore

/// Keeps the traces of a client's calls: all failed and slow calls, and a share of the others.
///
/// ```swift
/// let traces = TraceStore(sampling: 0.01, slowerThan: .seconds(2))
/// let client = Client(baseURL: base, trace: traces)
/// for trace in traces.traces { print(trace.id, trace.spans.count) }
/// ```
///
/// The decision to keep a call is made at its end, because only then it is known whether the call
/// was slow or failed. So each call of the client is recorded. This costs about a microsecond for
/// each gate. A failure is an error that the caller gets, a body that breaks off, or a status from
/// 400 on; a cancelled call is not a failure.
///
/// The store is a ring that is bounded in calls and in bytes: the oldest traces make room for new
/// ones. It may belong to several clients.
public final class TraceStore: CallReader {
    private struct State {
        var lastNumber: UInt64 = 0
        // Calls that are under way, by number. Weak, because a call ends when nothing refers to it.
        var running: [UInt64: Running] = [:]
        // The traces that are kept, oldest end first, and their size.
        var kept: [(number: UInt64, trace: Trace, bytes: Int)] = []
        var bytes = 0
    }

    private struct Running {
        weak var recorder: TraceRecorder?
    }

    /// The share of calls that are kept although they neither failed nor were slow, 0 to 1.
    public let sampling: Double
    /// The duration above which a call is kept as slow; nil if there is no such rule.
    public let slowerThan: Duration?
    /// How many calls are kept.
    public let maxCalls: Int
    /// The approximate memory limit of the kept traces, in bytes.
    public let maxBytes: Int
    let redaction: Redaction
    private let state = Mutex(State())

    /// Creates a store.
    /// - Parameters:
    ///   - sampling: The share of calls that are kept although they neither failed nor were slow, 0
    ///     to 1. It uses the call's own random share (``/TurnpikeCore/CallRandom/share``), as the
    ///     sampling of logs does: a call that is logged at 0.1 is also traced at 0.1.
    ///   - slowerThan: A call that takes longer, its body included, is kept; nil for no such rule.
    ///   - maxCalls: How many calls are kept, at least 1.
    ///   - maxBytes: The approximate memory limit of the kept traces, in bytes. The newest trace is
    ///     kept at any size, which is at most about 64 KiB.
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

    /// The kept traces, in the order in which the calls began, including the traces so far of calls
    /// that are under way.
    ///
    /// So an endless call, such as a stream, is listed as long as it lasts. Only the oldest
    /// ``maxCalls`` of the calls under way are listed.
    public var traces: [Trace] {
        let (kept, running) = state.withLock { state in
            (state.kept, state.running.sorted { $0.key < $1.key }.prefix(maxCalls))
        }
        // This runs outside the lock, because the redaction of calls under way takes time.
        let present = running.compactMap { number, running -> (UInt64, Trace)? in
            guard let trace = running.recorder?.trace, !trace.isComplete else { return nil }
            return (number, trace)
        }
        return (kept.map { ($0.number, $0.trace) } + present).sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// Removes the kept traces; calls that are under way stay.
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

    /// Whether a call's random share decides about its trace.
    var needsShare: Bool { sampling > 0 && sampling < 1 }

    /// Lists a call as under way.
    /// - Returns: Its number.
    func begin(_ recorder: TraceRecorder) -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            state.running[state.lastNumber] = Running(recorder: recorder)
            return state.lastNumber
        }
    }

    /// Decides whether the trace of a call that has ended is kept.
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

    /// Removes a call from the list of calls under way, and stores its trace if there is one.
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
