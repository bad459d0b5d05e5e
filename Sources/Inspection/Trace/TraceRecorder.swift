// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore

/// Records the duration of each part of one call.
///
/// Gates and transports do not depend on the recorder. Secrets are hidden before the trace is
/// stored or read.
final class TraceRecorder: CallReader {
    private enum Life {
        case running
        /// The caller has the value, or a response whose body is still open.
        case returned
        case bodyEnded(RecordedTrace.Outcome)
        case ended
    }

    private struct State {
        var life = Life.running
        /// The data before secrets are removed, or nil before the call begins.
        var raw: RecordedTrace?
        /// The trace of a call that has ended, without secrets.
        var shown: Trace?
        // The exchange whose upgraded connection is open; `isLast` is true for the last exchange of
        // the call.
        var upgrade: (part: Int, isLast: Bool)?
        var number: UInt64?
        var share: Double?
        var redaction: Redaction?
        // Whether a traced `Call` needs the trace, even if the store drops the trace.
        var isAskedFor = false

        func show(isComplete: Bool) -> Trace? {
            raw.map {
                TraceBuilder($0, redaction: redaction ?? .standard, isComplete: isComplete).trace()
            }
        }
    }

    private let store: TraceStore?
    private let state: Mutex<State>

    init(for store: TraceStore? = nil) {
        self.store = store
        state = Mutex(State(redaction: store?.redaction))
    }

    deinit { finish(.dropped) }

    /// Also records for a traced `Call`, from the start of the call.
    ///
    /// After this call, the trace hides everything that one of the two redactions hides.
    func serve(_ recording: CallRecording) {
        state.withLock { state in
            state.redaction = state.redaction?.and(recording.redaction) ?? recording.redaction
            state.isAskedFor = true
        }
    }

    func read(_ step: CallStep, in context: Context) {
        let part = context.part
        switch step {
        case .entered(.call(let request), _): begin(request, context)
        case .entered(let kind, let outer):
            let now = context.timeSource.now
            change { $0.begin(part, kind, in: outer, at: now) }
        case .left(let result):
            if part == 0 { return leave(result) }
            let now = context.timeSource.now
            let outcome = RecordedTrace.Outcome(result)
            change { $0.end(part, outcome, at: now) }
            let upgrade = state.withLock { state in
                state.upgrade?.part == part ? state.upgrade.take() : nil
            }
            if upgrade?.isLast == true { endBody(outcome) }
        case .note(let gate, let message, let describesPass):
            if describesPass { change { $0.describe(part, of: gate, message) } }
        case .reported(let reports): take(reports, part, context)
        case .received(let response, _): receive(response, part, context.timeSource)
        case .responded(let response): follow(response)
        case .counted, .sent, .retrying, .redirecting: break
        }
    }

    private func begin(_ request: Request, _ context: Context) {
        let raw = RecordedTrace(request, in: context)
        let share = store?.needsShare == true ? context.random.share : nil
        state.withLock { state in
            state.raw = raw
            state.share = share
        }
        // A store also lists calls that have just begun.
        let number = store?.begin(self)
        state.withLock { $0.number = number }
    }

    // MARK: Exchanges

    private func take(_ reports: [TransportReport], _ part: Int, _ context: Context) {
        let now = context.timeSource.now
        change {
            $0.change(part) { exchange in
                for report in reports {
                    exchange.timeline.take(report)
                    if case .sent = report { exchange.contentSentAt = now }
                    if case .message(let bytes, false) = report { exchange.add(bytes, at: now) }
                }
            }
        }
    }

    /// Records the head of a response, and later the progress of the body.
    private func receive(_ response: Response, _ part: Int, _ timeSource: any TimeSource) {
        let now = timeSource.now
        let head = response.head
        let encodedLength = response.body.encodedLength
        change {
            $0.change(part) { $0.receive(head, encodedLength: encodedLength, at: now) }
        }
        if response.upgradedConnection != nil {
            return state.withLock { $0.upgrade = (part, false) }
        }
        response.body.onChunk { [self] chunk in
            let now = timeSource.now
            change {
                $0.change(part) { $0.add(chunk.count, at: now) }
            }
        }
        response.body.onEnd { [self] in
            let now = timeSource.now
            let outcome = RecordedTrace.Outcome($0, status: head.status)
            change { $0.end(part, outcome, at: now) }
        }
    }

    private func change(_ change: (inout RecordedTrace) -> Void) {
        state.withLock { state in
            if case .ended = state.life { return }
            state.raw?.apply(change)
        }
    }

    // MARK: The end of the call

    /// Records the progress of the body, or of the upgraded connection, of the returned response.
    private func follow(_ response: Response) {
        let status = response.status
        let isUpgraded = state.withLock { state in
            guard response.upgradedConnection != nil else { return false }
            state.upgrade?.isLast = true
            return state.upgrade != nil
        }
        if isUpgraded { return }
        response.body.onEnd { [self] in endBody(RecordedTrace.Outcome($0, status: status)) }
    }

    private func endBody(_ outcome: RecordedTrace.Outcome) {
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

    /// If the response has a body, the call ends when the body ends.
    private func leave(_ result: Result<HTTPStatus?, any Error>) {
        guard case .success = result else { return finish(RecordedTrace.Outcome(result)) }
        let isEnd = state.withLock { state in
            switch state.life {
            case .bodyEnded: return true
            case .running: state.life = .returned
            case .returned, .ended: break
            }
            return false
        }
        if isEnd { finish(RecordedTrace.Outcome(result)) }
    }

    private func finish(_ outcome: RecordedTrace.Outcome) {
        let ended = state.withLock { state -> State? in
            if case .ended = state.life { return nil }
            state.life = .ended
            guard let now = state.raw?.timeSource.now else { return nil }
            state.raw?.end(outcome, at: now)
            return state
        }
        guard let ended, let raw = ended.raw else { return }
        let isKept = store?.keeps(raw, share: ended.share) ?? false
        let shown = ended.isAskedFor || isKept ? ended.show(isComplete: true) : nil
        state.withLock { state in
            state.shown = shown
            // The data contains secrets, and must therefore not stay in memory.
            state.raw = nil
        }
        if let number = ended.number { store?.end(number, isKept ? shown : nil) }
    }

    var trace: Trace? {
        let state = state.withLock { $0 }
        if let shown = state.shown { return shown }
        if case .ended = state.life { return state.show(isComplete: true) }
        return state.show(isComplete: false)
    }
}
