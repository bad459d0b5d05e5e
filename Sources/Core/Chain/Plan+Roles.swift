// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

extension Plan {
    // MARK: Retry

    /// The retry gate around the current task.
    ///
    /// A client inside a retrying call of another client makes only one attempt.
    @TaskLocal static var retryPass = RetryPass.over

    func retry(
        _ kept: Kept<any RequestRetrier>, _ request: Request, from position: Int,
        in context: Context
    ) async throws -> Response {
        let retrier = kept.value
        let rule = ResendRule.retried(by: kept, request)
        let present = Plan.retryPass
        let outer = present.hasEnded ? nil : present
        if let outer, !outer.belongs(to: context.call) {
            return try await run(
                request, from: position,
                in: context.freshAttempt(context.call.record.nextAttempt(), rule))
        }
        // The outermost retry gate of a call creates and ends this value.
        let pass = outer ?? RetryPass(context.call)
        defer { if outer == nil { pass.end() } }
        var attempts = 0
        var number = context.call.record.nextAttempt()
        var previousDelay: Duration?
        while true {
            attempts += 1
            let begin = context.timeSource.now
            let inner = context.freshAttempt(number, rule)
            let result: Result<Response, any Error>
            do {
                result = .success(
                    try await Plan.$retryPass.withValue(pass) {
                        try await run(request, from: position, in: inner)
                    })
            } catch {
                result = .failure(error)
            }
            var outcome = Outcome(
                request: request, result: result, attempts: attempts,
                elapsed: begin.duration(to: context.timeSource.now), previousDelay: previousDelay)
            if let limit = keptBytes(of: outcome, for: retrier, in: context) {
                outcome = await keepingContent(of: outcome, upTo: limit, in: context)
            }
            if attempts > 1 {
                context.call.record.add(AttemptSummary(outcome, number: number))
            }
            guard !outcome.isCancellation, context.cancelReason == nil,
                // An inner or a parallel retrier may have ended the call.
                !context.call.record.retriesForbidden, !retrier.settles(outcome, context: context),
                let further = try await attempt(after: outcome, number, by: retrier, in: context)
            else { return try outcome.result.get() }
            (number, previousDelay) = further
        }
    }

    /// Asks the retrier for another attempt, and waits for the time that the retrier sets.
    /// - Returns: The number of the attempt and the length of the wait, or nil if the outcome is
    ///   final.
    private func attempt(
        after outcome: Outcome, _ number: Int, by retrier: any RequestRetrier, in context: Context
    ) async throws -> (number: Int, delay: Duration)? {
        switch await retrier.retry(outcome, context: context) {
        case .stop: return nil
        case .fail(let error):
            context.call.record.fail()
            context.report(
                "ends the call with the outcome \(outcome.label)", by: retrier.gateName)
            await outcome.response?.discard(in: context)
            throw (error as? ClientError)?.caused(by: outcome) ?? error
        case .retry(let delay):
            guard outcome.isReplayable else {
                context.call.record.lastStop = RetryStop(
                    outcome, "the request's body cannot be sent a second time")
                retrier.retryWasAbandoned(outcome, context: context)
                return nil
            }
            if outcome.attempts == 1 {
                context.call.record.add(AttemptSummary(outcome, number: number))
            }
            await outcome.response?.discard(in: context)
            do {
                return (try await wait(delay, for: outcome, in: context), delay)
            } catch {
                retrier.retryWasAbandoned(outcome, context: context)
                throw error
            }
        }
    }

    private func wait(
        _ delay: Duration, for outcome: Outcome, in context: Context
    ) async throws -> Int {
        if let left = context.timeLeft, delay >= left {
            throw ClientError(
                .deadlineExceeded,
                "the next attempt would wait \(delay.text), but the deadline passes first",
                underlying: outcome.error, response: outcome.head)
        }
        // The number is reported first, because a log and a trace must have the same number.
        let number = context.call.record.nextAttempt()
        context.tell(.retrying(after: delay, attempt: number, outcome))
        try await context.report(waitingFor: "back-off") { try await $0.sleep(for: delay) }
        return number
    }

    // MARK: Validate

    func validate(
        _ response: Response, by validator: any ResponseValidator, for request: Request,
        in context: Context
    ) async throws -> Response {
        do {
            try await validator.validate(response, for: request, context: context)
            return response
        } catch let error as ClientError where error.code == .validation {
            let (kept, isCut, _) = await response.discard(
                in: context, keeping: max(validator.keptBytes(for: request), 0))
            throw error.refusing(
                response.head, body: kept, isCut: isCut, at: context.timeSource.date)
        } catch {
            await response.discard(in: context)
            throw error
        }
    }

    // MARK: Log

    func begin(_ logger: any RequestLogger, _ request: Request, in context: Context) -> Context {
        let began = context.timeSource.now
        let logger = logger.loggerForPass() ?? logger
        let context = context.observed(by: logger, since: began)
        tell(logger, .began, request, context, since: began)
        return context
    }

    func end(_ request: Request, _ result: Result<Response, any Error>, in context: Context) {
        guard let (logger, began) = context.observers.map({ ($0.logger, $0.began) }) else { return }
        switch result {
        case .success(let response):
            tell(logger, .responded, request, context, since: began, head: response.head)
            let peek = logger.peekBytes > 0 ? ResponseBodyPeek(limit: logger.peekBytes) : nil
            if let peek { response.body.onChunk { peek.add($0) } }
            response.body.onEnd { [head = response.head] end in
                var error: (any Error)?
                if case .failed(let failure) = end.reason { error = failure }
                logger.log(
                    CallEvent(
                        .bodyEnded(end), context: context, since: began, request: request,
                        head: head, error: error, peeked: peek))
            }
        case .failure(let error):
            tell(
                logger, .failed, request, context, since: began,
                head: (error as? ClientError)?.response, error: error)
        }
    }

    private func tell(
        _ logger: any RequestLogger, _ kind: CallEvent.Kind, _ request: Request, _ context: Context,
        since began: MonotonicInstant, head: ResponseHead? = nil, error: (any Error)? = nil
    ) {
        logger.log(
            CallEvent(
                kind, context: context, since: began, request: request, head: head, error: error))
    }

    // MARK: Measure

    func measure(
        _ recorder: any MetricsRecorder, _ request: Request, from position: Int, in context: Context
    ) async throws -> Response {
        let begin = context.timeSource.now
        let sendsBefore = context.call.record.sends
        recorder.passBegins(request)
        do {
            let response = try await run(request, from: position, in: context)
            // The transport's time is used, because an inner gate may delay the response.
            let headAt = max(response.headAt ?? context.timeSource.now, begin)
            response.body.onEnd { [head = response.head] end in
                recorder.record(
                    CallMeasurement(
                        request: request, head: head, error: end.reason.measuredError, begin: begin,
                        headAt: headAt, bytes: end.encodedBytes ?? end.bytes,
                        sendsBefore: sendsBefore, context: context))
            }
            return response
        } catch {
            recorder.record(
                CallMeasurement(
                    request: request, head: (error as? ClientError)?.response, error: error,
                    begin: begin, headAt: nil, bytes: nil, sendsBefore: sendsBefore,
                    context: context))
            throw error
        }
    }
}

/// A retry of a call, for the tasks that are started inside the retry.
///
/// A task that outlives the retry, such as a poller, no longer belongs to the retry.
final class RetryPass: Sendable {
    // This property identifies the object of the call, because calls of seeded clients may have
    // equal IDs. A reference would keep the call alive as long as a task holds this value.
    private let call: ObjectIdentifier?
    private let isOver: Atomic<Bool>

    static let over = RetryPass()

    private init() {
        call = nil
        isOver = Atomic(true)
    }

    init(_ call: CallState) {
        self.call = ObjectIdentifier(call)
        isOver = Atomic(false)
    }

    var hasEnded: Bool { isOver.load(ordering: .relaxed) }

    func belongs(to call: CallState) -> Bool { ObjectIdentifier(call) == self.call }

    func end() { isOver.store(true, ordering: .relaxed) }
}

extension ResponseBodyEnd.Reason {
    fileprivate var measuredError: (any Error)? {
        switch self {
        case .finished, .dropped: nil
        case .cancelled: CancellationError()
        case .failed(let error): error
        }
    }
}

extension ClientError {
    fileprivate func refusing(
        _ head: ResponseHead, body: Data, isCut: Bool, at now: Date
    ) -> ClientError {
        ClientError(
            code, message, underlying: underlying, response: response ?? head,
            responseBody: responseBody.isEmpty ? body : responseBody,
            isResponseBodyCut: responseBody.isEmpty ? isCut : isResponseBodyCut,
            transfer: transfer ?? TransferState(.receiving),
            retryAfter: retryAfter ?? head.headers.retryAfter(at: now))
    }
}
