// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeSupport

/// Records where the time of one call goes.
///
/// The plan marks the passes through gates and the attempts, contexts mark their waits, and
/// transports report phases as always; gates do not know it. Secrets are hidden when the call ends,
/// before the trace is stored, or when somebody looks at it earlier.
final class TraceRecorder: Sendable {
    private enum Life {
        case running
        /// The caller has its value or its response, whose body is still open.
        case returned
        /// The body of the response has ended, but the caller has no value yet.
        case bodyEnded(RecordedTrace.Outcome)
        case ended
    }

    private struct State {
        var life = Life.running
        /// What was noted, until it is redacted.
        var raw: RecordedTrace?
        /// The trace of a call that has ended, if somebody wants it.
        var shown: Trace?
        // The call's number in the store.
        var number: UInt64?
        // The call's random share; nil if it decides nothing.
        var share: Double?
    }

    let id: CallID
    private let date: Date
    private let timeSource: any TimeSource
    private let redaction: Redaction
    private let store: TraceStore?
    // Whether a handle waits for the trace, whatever the store decides.
    private let isAskedFor: Bool
    private let state: Mutex<State>

    init(
        _ id: CallID, _ request: Request, at now: MonotonicInstant, timeSource: any TimeSource,
        for recording: CallRecording?, _ store: TraceStore?
    ) {
        self.id = id
        self.timeSource = timeSource
        self.store = store
        date = timeSource.date
        isAskedFor = recording != nil
        // Of two rules, what either hides is hidden.
        redaction =
            switch (recording, store) {
            case (let recording?, let store?): recording.redaction.and(store.redaction)
            default: recording?.redaction ?? store?.redaction ?? .standard
            }
        state = Mutex(State(raw: RecordedTrace(request, at: now)))
    }

    deinit { finish(.dropped) }

    /// Begins, before anything is recorded.
    /// - Parameter random: The call's random numbers.
    func begin(_ random: @autoclosure () -> CallRandom) {
        guard let store else { return }
        let share = store.needsShare ? random().share : nil
        let number = store.begin(self)
        state.withLock { state in
            state.number = number
            state.share = share
        }
    }

    // MARK: Marks

    /// Notes the beginning of a span.
    /// - Returns: Its number, or nil if it is left out or the call has ended.
    func begin(_ kind: RecordedTrace.Kind, in parent: Int) -> Int? {
        let now = timeSource.now
        return change { $0.begin(kind, in: parent, at: now) } ?? nil
    }

    /// Notes the beginning of a wait, unless it lies in another one or in an exchange.
    func beginWait(_ name: () -> String, in parent: Int) -> Int? {
        guard state.withLock({ $0.raw?.marksWaits(in: parent) }) == true else { return nil }
        return begin(.wait(name()), in: parent)
    }

    /// Whether a span is a wait.
    func isWait(_ span: Int) -> Bool { state.withLock { $0.raw?.isWait(span) } ?? false }

    /// Notes what a gate says of its pass.
    func describe(_ span: Int, of gate: String, _ detail: () -> String) {
        let text = detail()
        change { $0.describe(span, of: gate, text) }
    }

    func end(_ span: Int, _ outcome: RecordedTrace.Outcome) {
        let now = timeSource.now
        change { $0.end(span, outcome, at: now) }
    }

    // MARK: Exchanges

    /// Notes that a request is passed to the transport.
    func send(_ request: Request, in parent: Int, at now: MonotonicInstant) -> Int? {
        change { $0.begin(request, in: parent, at: now) } ?? nil
    }

    /// Notes what a transport reports about the exchange that a span lies in.
    func take(_ reports: [TransportReport], in span: Int) {
        let now = timeSource.now
        change {
            $0.change(span) { exchange in
                for report in reports {
                    exchange.timeline.take(report)
                    if case .sent = report { exchange.contentSentAt = now }
                }
            }
        }
    }

    /// Notes the head of a response, and follows its body.
    func receive(_ response: Response, in span: Int) {
        let now = timeSource.now
        let head = response.head
        let encodedLength = response.body.encodedLength
        change {
            $0.change(span) { $0.receive(head, encodedLength: encodedLength, at: now) }
        }
        response.body.onChunk { [self] chunk in read(chunk.count, in: span) }
        response.body.onEnd { [self] in
            end(span, RecordedTrace.Outcome($0, status: head.status))
        }
    }

    private func read(_ bytes: Int, in span: Int) {
        let now = timeSource.now
        change {
            $0.change(span) { exchange in
                exchange.bytesReceived += Int64(bytes)
                exchange.chunks.add(bytes, at: now)
            }
        }
    }

    @discardableResult
    private func change<Result: Sendable>(_ change: (inout RecordedTrace) -> Result) -> Result? {
        state.withLock { state in
            if case .ended = state.life { return nil }
            return state.raw?.apply(change)
        }
    }

    // MARK: The end of the call

    /// Notes that the chain has returned a response, and follows its body.
    func follow(_ response: Response) {
        let status = response.status
        response.body.onEnd { [self] end in
            let outcome = RecordedTrace.Outcome(end, status: status)
            let isEnd = state.withLock { state in
                switch state.life {
                case .returned: return true
                case .running: state.life = .bodyEnded(outcome)
                case .bodyEnded, .ended: break
                }
                return false
            }
            if isEnd { finish(outcome) }
        }
    }

    /// Notes that the caller gets the response, or the value that was made of it.
    ///
    /// The call ends with its body.
    func didReturn(_ status: HTTPStatus) {
        let isEnd = state.withLock { state in
            switch state.life {
            case .bodyEnded: return true
            case .running: state.life = .returned
            case .returned, .ended: break
            }
            return false
        }
        if isEnd { finish(.returned(status)) }
    }

    /// Notes that the call has failed.
    func fail(_ error: any Error) { finish(RecordedTrace.Outcome(error)) }

    private func finish(_ outcome: RecordedTrace.Outcome) {
        let now = timeSource.now
        let ended = state.withLock { state -> (RecordedTrace, Double?, UInt64?)? in
            if case .ended = state.life { return nil }
            state.life = .ended
            state.raw?.end(outcome, at: now)
            return state.raw.map { ($0, state.share, state.number) }
        }
        guard let (raw, share, number) = ended else { return }
        let isKept = store?.keeps(raw, share: share) ?? false
        let shown = isAskedFor || isKept ? show(raw, isComplete: true) : nil
        state.withLock { state in
            state.shown = shown
            // Nothing stays that is not redacted.
            state.raw = nil
        }
        if let number { store?.end(number, isKept ? shown : nil) }
    }

    /// The trace as far as it has come; nil if the call has ended and nobody keeps its trace.
    var trace: Trace? {
        let (shown, raw, isComplete) = state.withLock { state in
            if case .ended = state.life { return (state.shown, state.raw, true) }
            return (state.shown, state.raw, false)
        }
        return shown ?? raw.map { show($0, isComplete: isComplete) }
    }

    private func show(_ raw: RecordedTrace, isComplete: Bool) -> Trace {
        TraceBuilder(raw, redaction: redaction, isComplete: isComplete).trace(id: id, date: date)
    }
}
