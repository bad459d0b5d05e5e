import Synchronization

/// What happened in one call so far: shared by its contexts, its response and its error.
package final class CallRecord: Sendable {
    private struct State {
        var timeline = Timeline()
        var sends = 0
        var attempts = 0
        var heads = 0
        var hops: [Hop] = []
        var history: [AttemptSummary] = []
        var lastStop: RetryStop?
        var hasFailed = false
        var described: Request?
        var lastSent: Request?
        var progress = TransferProgress()
        var progressHandlers: [ProgressHandler] = []
    }

    package typealias ProgressHandler = @Sendable (TransferProgress) -> Void

    private let state = Mutex(State())

    package init() {}

    package var timeline: Timeline { state.withLock { $0.timeline } }

    /// How often the transport was asked to send.
    package var sends: Int { state.withLock { $0.sends } }

    package var hops: [Hop] { state.withLock { $0.hops } }

    /// The request as it was last handed to the transport.
    package var lastSent: Request? { state.withLock { $0.lastSent } }

    /// The request as it was last handed to the transport, or as it was described, and when the call
    /// was begun; an exchange of a gate's own begins as it is sent.
    var beginning: (request: Request?, start: MonotonicInstant?) {
        state.withLock { state in
            (state.lastSent ?? state.described, state.timeline.start ?? state.timeline.sent)
        }
    }

    /// Begins a call for a request.
    func begin(_ request: Request, at now: MonotonicInstant) {
        state.withLock { state in
            state.described = request
            state.timeline.start = now
        }
    }

    package func updateTimeline(_ change: (inout Timeline) -> Void) {
        state.withLock { change(&$0.timeline) }
    }

    package func add(_ hop: Hop) { state.withLock { $0.hops.append(hop) } }

    /// What came of the attempts of a call that was tried again, the latest 32.
    package var history: [AttemptSummary] { state.withLock { $0.history } }

    func add(_ attempt: AttemptSummary) {
        state.withLock { state in
            if state.history.count == 32 { state.history.removeFirst() }
            state.history.append(attempt)
        }
    }

    /// Why a retry let the last outcome that it judged stand, where it was one to try again.
    package var lastStop: RetryStop? {
        get { state.withLock { $0.lastStop } }
        set { state.withLock { $0.lastStop = newValue } }
    }

    /// Whether a retrier has ended the call (``RetryDecision/fail(_:)``): nothing tries again.
    package var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// Ends the call for all who would try again.
    func fail() { state.withLock { $0.hasFailed = true } }

    /// The number of a fresh attempt, from 1.
    func nextAttempt() -> Int {
        state.withLock { state in
            state.attempts += 1
            return state.attempts
        }
    }

    /// Counts a send; gives false where the call has been sent too often.
    ///
    /// Hops have a limit of their own. Progress begins again.
    func willSend(
        _ request: Request, attempt: Int, at now: MonotonicInstant, limit: Int
    ) -> Bool {
        let (isSent, handlers, progress) = state.withLock {
            state -> (Bool, [ProgressHandler], TransferProgress) in
            guard state.sends - state.hops.count < limit else {
                return (false, [], state.progress)
            }
            state.sends += 1
            state.attempts = max(state.attempts, attempt)
            state.lastSent = request
            state.timeline.begin(at: now)
            let hadMoved = state.progress.hasMoved
            state.progress = TransferProgress(totalToSend: request.body.length)
            return (true, hadMoved ? state.progressHandlers : [], state.progress)
        }
        for handler in handlers { handler(progress) }
        return isSent
    }

    /// Calls a handler with the state now, where something has moved, whenever bytes of content were
    /// sent or received, and when that begins again.
    package func onProgress(_ handler: @escaping ProgressHandler) {
        state.withLock { state in
            state.progressHandlers.append(handler)
            let progress = state.progress
            // Under the lock, so that nothing later comes before it.
            if progress.hasMoved { handler(progress) }
        }
    }

    /// How many bytes of the request's content have left in this send.
    package func didSend(totalBytes: Int64) {
        advance { state in
            state.timeline.bodyBytesSent = totalBytes
            state.progress.bytesSent = totalBytes
        }
    }

    /// Bytes of the content behind a head were read.
    func didReceive(bytes: Int, behind head: Int) {
        advance { state in
            guard state.heads == head else { return }
            state.timeline.bodyBytesReceived += Int64(bytes)
            state.progress.bytesReceived = state.timeline.bodyBytesReceived
        }
    }

    private func advance(_ change: (inout State) -> Void) {
        let (handlers, progress) = state.withLock { state in
            change(&state)
            return (state.progressHandlers, state.progress)
        }
        for handler in handlers { handler(progress) }
    }

    /// The body behind a head has ended; one that was given up for another tells nothing.
    func didEndBody(at now: MonotonicInstant?, behind head: Int) {
        state.withLock { if $0.heads == head { $0.timeline.bodyEnd = now } }
    }

    /// A head has come.
    /// - Returns: Its number within the call.
    func didReceiveHead(of response: Response, at now: MonotonicInstant) -> Int {
        let (length, encodedLength) = (response.body.length, response.body.encodedLength)
        return state.withLock { state in
            state.heads += 1
            state.timeline.head = now
            state.timeline.protocolVersion = response.head.version
            state.timeline.encodedBodyBytes = encodedLength
            state.progress.totalToReceive = length
            return state.heads
        }
    }
}
