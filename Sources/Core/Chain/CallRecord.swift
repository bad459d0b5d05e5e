// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

/// The history of a call so far; its contexts, its response and its error share it.
final class CallRecord: Sendable {
    private struct State {
        var exchanges = RecordedExchanges()
        var sends = 0
        var attempts = 0
        var hops: [Hop] = []
        var history: [AttemptSummary] = []
        var lastStop: RetryStop?
        // The reason for a wait in a gate, and the number of sends before it.
        var wait: (text: String, sends: Int)?
        var retriesForbidden = false
        var lostConnections = 0
        // The state of the call when its deadline passed.
        var placeAtDeadline: String?
        var hasResent = false
        var described: Request?
        var lastSent: Request?
        var progressHandlers: [ProgressHandler] = []
    }

    typealias ProgressHandler = @Sendable (TransferProgress) -> Void

    private let state = Mutex(State())
    // Whether there were exchanges at the same time.
    private let isContested = Atomic(false)

    init() {}

    var timeline: Timeline { state.withLock { $0.exchanges.timeline } }

    /// How many times the transport was asked to send.
    var sends: Int { state.withLock { $0.sends } }

    var hops: [Hop] { state.withLock { $0.hops } }

    /// The request as last passed to the transport.
    var lastSent: Request? { state.withLock { $0.lastSent } }

    /// The request as last sent or, before a send, as described, and the time the call began.
    ///
    /// An exchange that a gate makes itself begins when it is sent.
    var beginning: (request: Request?, start: MonotonicInstant?) {
        state.withLock { state in
            let timeline = state.exchanges.timeline
            return (state.lastSent ?? state.described, timeline.start ?? timeline.sent)
        }
    }

    /// Records the request and the start time of a call.
    func begin(_ request: Request, at now: MonotonicInstant) {
        state.withLock { state in
            state.described = request
            state.exchanges.beginCall(at: now)
        }
    }

    /// Records that the body was converted into a value.
    func didSerialize(at now: MonotonicInstant) {
        state.withLock { $0.exchanges.endCall(at: now) }
    }

    func add(_ hop: Hop) { state.withLock { $0.hops.append(hop) } }

    /// The outcomes of the last 32 attempts of a call that was retried.
    var history: [AttemptSummary] { state.withLock { $0.history } }

    func add(_ attempt: AttemptSummary) {
        state.withLock { state in
            if state.history.count == 32 { state.history.removeFirst() }
            state.history.append(attempt)
        }
    }

    /// Adds details to an error: the request as all gates left it, the outcomes of the attempts,
    /// and the state of the call when its deadline passed.
    /// - Parameters:
    ///   - error: The error; an error of another type stays as it is.
    ///   - date: The date for the server's `Retry-After`; nil leaves that out.
    /// - Returns: The error.
    func completed(_ error: any Error, at date: Date?) -> any Error {
        guard let error = error as? ClientError else { return error }
        // A time limit is the error of a call, whether or not anything was sent.
        let isLate = error.code == .deadlineExceeded || error.code == .attemptTimeout
        let full = error.completed(
            sent: isLate ? beginning.request : lastSent, attempts: sends,
            retryAfter: date.flatMap { error.response?.headers.retryAfter(at: $0) },
            history: history
        ).explained(by: lastStop)
        return error.sent == nil ? placed(full) : full
    }

    /// Adds the state of the call to the error of a deadline.
    func placed(_ error: ClientError) -> ClientError {
        guard error.code == .deadlineExceeded,
            let place = state.withLock({ $0.placeAtDeadline }) ?? place
        else { return error }
        return error.adding(toMessage: "; " + place)
    }

    /// Notes the state of the call, before a passed deadline ends it.
    func deadlinePasses() {
        let place = place
        state.withLock { $0.placeAtDeadline = place }
    }

    /// The state of a call when its time ends; nil if nothing is under way.
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

    /// Notes that the call waits in a gate; a deadline that passes meanwhile has this in its error.
    ///
    /// The note is left out while an earlier send may still be under way.
    /// - Parameter text: The reason for the wait: `in line for …`. A nil or a send ends the wait.
    func waits(_ text: String?) {
        state.withLock { state in
            // In a hedged call, another branch may still be sending to the server.
            let isUnderWay = state.exchanges.awaited != nil
            state.wait = isUnderWay ? nil : text.map { ($0, state.sends) }
        }
    }

    /// Why a retry did not repeat the last retryable outcome.
    var lastStop: RetryStop? {
        get { state.withLock { $0.lastStop } }
        set { state.withLock { $0.lastStop = newValue } }
    }

    /// Whether a retrier has ended the call (``RetryDecision/fail(_:)``), which forbids retries.
    var retriesForbidden: Bool { state.withLock { $0.retriesForbidden } }

    /// Forbids all further retries of the call.
    func fail() { state.withLock { $0.retriesForbidden = true } }

    /// How many kept-alive connections ended under a request of the call, before an answer.
    var lostConnections: Int { state.withLock { $0.lostConnections } }

    func didLoseConnection() { state.withLock { $0.lostConnections += 1 } }

    /// Uses the one extra send of a call without a retry, after a lost connection.
    func takeResend(limit: Int) -> Bool {
        state.withLock { state in
            if state.hasResent || state.sends - state.hops.count >= limit { return false }
            state.hasResent = true
            return true
        }
    }

    /// Returns the number of a new attempt: from 1 on, and above each number already in use.
    ///
    /// The first attempt of a call without a retry is recorded only when it is sent.
    func nextAttempt(after number: Int = 0) -> Int {
        state.withLock { state in
            state.attempts = max(state.attempts, number) + 1
            return state.attempts
        }
    }

    /// Counts a send and resets the progress.
    ///
    /// Redirect hops are not counted, because they have a separate limit.
    /// - Returns: The number of the exchange in the call, or nil if the call has reached its send
    ///   limit.
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

    /// Calls a handler whenever content bytes are sent or received, or progress is reset.
    ///
    /// Calls it at once if bytes have already moved.
    func onProgress(_ handler: @escaping ProgressHandler) {
        state.withLock { state in
            state.progressHandlers.append(handler)
            let progress = state.exchanges.progress
            // Under the lock, so that no later state is delivered first.
            if progress.hasMoved { handler(progress) }
        }
    }

    /// Records the reports of a transport about the last exchange of an attempt.
    func take(_ reports: [TransportReport], ofAttempt attempt: Int) {
        advance { state in
            for case .sentAgain in reports { state.sends += 1 }
            return state.exchanges.take(reports, ofAttempt: attempt)
        }
    }

    /// Records that content bytes of the response of an exchange were read.
    func didReceive(bytes: Int, in exchange: Int) {
        advance { $0.exchanges.receive(bytes, in: exchange) }
    }

    /// Changes the state and reports the progress if it has changed.
    private func advance(_ change: (inout State) -> Bool) {
        let (handlers, progress) = state.withLock { state in
            let hasMoved = change(&state)
            return (hasMoved ? state.progressHandlers : [], state.exchanges.progress)
        }
        for handler in handlers { handler(progress) }
    }

    /// Records that an exchange ended without a response.
    func didFail(_ exchange: Int) { didEndBody(at: nil, in: exchange) }

    /// Records the end of the body of an exchange's response.
    func didEndBody(at now: MonotonicInstant?, in exchange: Int) {
        state.withLock { $0.exchanges.endBody(of: exchange, at: now) }
    }

    /// Records the head of an exchange's response.
    /// - Parameters:
    ///   - response: The response.
    ///   - exchange: The number of the exchange.
    ///   - now: The current time.
    ///   - isGivenUp: Whether the exchange was cancelled.
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

    /// Records that the call returns the response of an exchange.
    func didChoose(_ exchange: Int?) {
        guard let exchange, isContested.load(ordering: .relaxed) else { return }
        state.withLock { $0.exchanges.show(exchange) }
    }
}
