// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

/// The history of a call and the handlers for its cancellation, which the call's contexts, response
/// and error share.
final class CallRecord: Sendable {
    private struct State {
        var exchanges = RecordedExchanges()
        var sends = 0
        var attempts = 0
        var hops: [Hop] = []
        var history: [AttemptSummary] = []
        var lastStop: RetryStop?
        var wait: (text: String, sends: Int)?
        var retriesForbidden = false
        var lostConnections = 0
        var placeAtDeadline: String?
        var hasResent = false
        var described: Request?
        var lastSent: Request?
        var progressHandlers: [ProgressHandler] = []
    }

    typealias ProgressHandler = @Sendable (TransferProgress) -> Void

    let cancelTree: CancelTree
    private let state = Mutex(State())
    private let isContested = Atomic(false)

    init(inside outer: CallRecord? = nil) { cancelTree = CancelTree(inside: outer) }

    var timeline: Timeline { state.withLock { $0.exchanges.timeline } }

    var sends: Int { state.withLock { $0.sends } }

    var hops: [Hop] { state.withLock { $0.hops } }

    var lastSent: Request? { state.withLock { $0.lastSent } }

    /// The last sent request (before the first send, the described request), and the call's start.
    ///
    /// A side call of a gate has no start, and begins with the send.
    var beginning: (request: Request?, start: MonotonicInstant?) {
        state.withLock { state in
            let timeline = state.exchanges.timeline
            return (state.lastSent ?? state.described, timeline.start ?? timeline.sent)
        }
    }

    func begin(_ request: Request, at now: MonotonicInstant) {
        state.withLock { state in
            state.described = request
            state.exchanges.beginCall(at: now)
        }
    }

    func didSerialize(at now: MonotonicInstant) {
        state.withLock { $0.exchanges.endCall(at: now) }
    }

    func add(_ hop: Hop) { state.withLock { $0.hops.append(hop) } }

    var history: [AttemptSummary] { state.withLock { $0.history } }

    func add(_ attempt: AttemptSummary) {
        state.withLock { state in
            if state.history.count == 32 { state.history.removeFirst() }
            state.history.append(attempt)
        }
    }

    /// Adds details to a `ClientError`: the request as the transport got it, the outcomes of the
    /// attempts, the state of the call at the deadline and, if `date` is not nil, the server's
    /// `Retry-After`.
    func completed(_ error: any Error, at date: Date?) -> any Error {
        guard let error = error as? ClientError else { return error }
        // The described request is shown, because a late call may have sent nothing.
        let isLate = error.code == .deadlineExceeded || error.code == .attemptTimeout
        let full = error.completed(
            sent: isLate ? beginning.request : lastSent, attempts: sends,
            retryAfter: date.flatMap { error.response?.headers.retryAfter(at: $0) },
            history: history
        ).explained(by: lastStop)
        return error.sent == nil ? placed(full) : full
    }

    func placed(_ error: ClientError) -> ClientError {
        guard error.code == .deadlineExceeded,
            let place = state.withLock({ $0.placeAtDeadline }) ?? place
        else { return error }
        return error.adding(toMessage: "; " + place)
    }

    /// Stores the state of the call for the error of a deadline, before the deadline ends the call.
    func deadlinePasses() {
        let place = place
        state.withLock { $0.placeAtDeadline = place }
    }

    func explainDeadline(_ text: String) { state.withLock { $0.placeAtDeadline = text } }

    /// The reason for the current wait, or nil if the call does not wait.
    private var place: String? {
        if let pendingWait { return "it was waiting \(pendingWait)" }
        return state.withLock { state in
            if state.sends == 0 { return "nothing was sent yet" }
            return switch state.exchanges.awaited {
            case .head: "the server had not answered"
            case .content: "the content had not ended"
            case nil: nil
            }
        }
    }

    private var pendingWait: String? {
        state.withLock { state in state.wait?.sends == state.sends ? state.wait?.text : nil }
    }

    /// Stores the reason for a wait, for the error of a deadline, until the next send or until nil.
    ///
    /// Stores nothing if an earlier request may still be running.
    func waits(_ text: String?) {
        state.withLock { state in
            let isUnderWay = state.exchanges.awaited != nil
            state.wait = isUnderWay ? nil : text.map { ($0, state.sends) }
        }
    }

    var lastStop: RetryStop? {
        get { state.withLock { $0.lastStop } }
        set { state.withLock { $0.lastStop = newValue } }
    }

    var retriesForbidden: Bool { state.withLock { $0.retriesForbidden } }

    func fail() { state.withLock { $0.retriesForbidden = true } }

    var lostConnections: Int { state.withLock { $0.lostConnections } }

    func didLoseConnection() { state.withLock { $0.lostConnections += 1 } }

    /// Takes the extra send after a lost connection, which a call without a retry gate has once.
    func takeResend(limit: Int) -> Bool {
        state.withLock { state in
            if state.hasResent || state.sends - state.hops.count >= limit { return false }
            state.hasResent = true
            return true
        }
    }

    /// Returns the number of a new attempt, which is at least 1 and above each earlier number.
    func nextAttempt(after number: Int = 0) -> Int {
        state.withLock { state in
            state.attempts = max(state.attempts, number) + 1
            return state.attempts
        }
    }

    /// Counts a send and resets the progress; redirects have a separate limit.
    /// - Returns: The number of the exchange, or nil if the call has reached the limit.
    func willSend(
        _ request: Request, attempt: Int, at now: MonotonicInstant, limit: Int
    ) -> Int? {
        let (number, handlers, progress) = state.withLock {
            state -> (Int?, [ProgressHandler], TransferProgress) in
            guard state.sends - state.hops.count < limit else {
                return (nil, [], state.exchanges.progress)
            }
            state.sends += 1
            state.placeAtDeadline = nil
            state.attempts = max(state.attempts, attempt)
            state.lastSent = request
            let hadMoved = state.exchanges.progress.hasMoved
            state.exchanges.begin(
                state.sends, attempt: attempt, length: request.body.length, at: now)
            if state.exchanges.isContested { isContested.store(true, ordering: .relaxed) }
            return (
                state.sends, hadMoved ? state.progressHandlers : [], state.exchanges.progress
            )
        }
        for handler in handlers { handler(progress) }
        return number
    }

    /// Calls a handler when bytes move or the progress is reset, and now if bytes have moved.
    func onProgress(_ handler: @escaping ProgressHandler) {
        state.withLock { state in
            state.progressHandlers.append(handler)
            let progress = state.exchanges.progress
            // The handler is called under the lock, because a later state must not be delivered
            // first.
            if progress.hasMoved { handler(progress) }
        }
    }

    func take(_ reports: [TransportReport], ofAttempt attempt: Int) {
        advance { state in
            for case .sentAgain in reports { state.sends += 1 }
            return state.exchanges.take(reports, ofAttempt: attempt)
        }
    }

    func didReceive(bytes: Int, in exchange: Int) {
        advance { $0.exchanges.receive(bytes, in: exchange) }
    }

    private func advance(_ change: (inout State) -> Bool) {
        let (handlers, progress) = state.withLock { state in
            let hasMoved = change(&state)
            return (hasMoved ? state.progressHandlers : [], state.exchanges.progress)
        }
        for handler in handlers { handler(progress) }
    }

    func didFail(_ exchange: Int) { didEndBody(at: nil, in: exchange) }

    func didEndBody(at now: MonotonicInstant?, in exchange: Int) {
        state.withLock { $0.exchanges.endBody(of: exchange, at: now) }
    }

    /// Records the head of a response; `isGivenUp` is true if the exchange was cancelled.
    func didReceiveHead(
        of response: Response, in exchange: Int, at now: MonotonicInstant,
        unless isGivenUp: @autoclosure () -> Bool
    ) {
        let (length, encodedLength) = (response.body.length, response.body.encodedLength)
        state.withLock { state in
            state.exchanges.receiveHead(of: exchange, unless: isGivenUp()) { timeline, progress in
                timeline.head = now
                timeline.protocolVersion = response.head.version
                timeline.encodedBodyBytes = encodedLength
                progress.totalToReceive = length
            }
        }
    }

    func didChoose(_ exchange: Int?) {
        guard let exchange, isContested.load(ordering: .relaxed) else { return }
        state.withLock { $0.exchanges.show(exchange) }
    }
}
