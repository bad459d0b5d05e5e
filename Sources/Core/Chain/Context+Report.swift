// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Context {
    /// Reports an action of a gate to the outer loggers and to the readers of the call.
    /// - Parameters:
    ///   - message: The gate's action, without secrets; evaluated only if the call has readers.
    ///   - gate: The gate's name.
    ///   - describesPass: Whether the call's trace shows the message beside the gate's name.
    public func report(
        _ message: @autoclosure () -> String, by gate: String, describesPass: Bool = false
    ) {
        tell(.note(gate: gate, message: message(), describesPass: describesPass))
    }

    /// Adds one to a counter of a gate, for the meter of the gate and the readers of the call.
    ///
    /// Outside a call, a gate adds to its counters directly (``GateFigures/add(_:to:labels:)``).
    /// - Parameters:
    ///   - name: The name of the counter.
    ///   - labels: The counter's labels, evaluated only if the call has readers.
    ///   - figures: The counters of the gate.
    public func report(
        count name: String, labels: @autoclosure () -> [String: String] = [:],
        of figures: GateFigures
    ) {
        figures.add(1, to: name, labels: labels())
        call.stream?.tell(.counted(.counter(name, labels())), in: self)
    }

    /// Reports what an operation waits for, and how long, so that a trace shows the wait.
    ///
    /// ```swift
    /// let entry = try await context.report(waitingFor: "look in the cache") { _ in try await store.entry(key) }
    /// ```
    ///
    /// ``sleep(for:)`` reports its own wait. A wait within another wait is a part of the outer wait
    /// and is not reported. If the call has no readers, this method only runs the operation.
    /// - Parameters:
    ///   - name: The reason for the wait, for people, for example `back-off`. The name is evaluated
    ///     only if the call has readers.
    ///   - phrase: The text after "it was waiting" in the error of a deadline that passes during
    ///     the wait, for example `in line for a permit`. Nil adds no text. If an earlier exchange
    ///     is still running, the error describes that exchange instead.
    ///   - message: The gate's message before the wait (``report(_:by:describesPass:)``), or nil.
    ///   - gate: The gate's name, for the message.
    ///   - tellGauges: Updates the gauges of the gate (``GateFigures/tell(_:)``), when the wait
    ///     begins and when it has ended.
    ///   - operation: The operation. The operation's context differs from this context only in the
    ///     ``part``. Exchanges that the operation makes in its context are parts of the wait.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public func report<Value>(
        waitingFor name: @autoclosure () -> String,
        atDeadline phrase: @autoclosure () -> String? = nil,
        saying message: @autoclosure () -> String? = nil, by gate: String = "",
        gauges tellGauges: () -> Void = {},
        _ operation: (Context) async throws -> Value
    ) async rethrows -> Value {
        if call.stream != nil || observers != nil, let message = message() {
            report(message, by: gate)
        }
        tellGauges()
        defer { tellGauges() }
        let phrase = phrase()
        let isNamed = phrase != nil
        if let phrase { call.record.waits(phrase) }
        let wait = place.kind == .chain ? entering(.wait(name())) : nil
        do {
            let value = try await operation(wait ?? self)
            wait?.left(.success(nil))
            if isNamed { call.record.waits(nil) }
            return value
        } catch {
            wait?.left(.failure(error))
            // The reason for the wait stays only if a passed deadline ended the wait.
            if isNamed, timeLeft.map({ $0 > .zero }) ?? true { call.record.waits(nil) }
            throw error
        }
    }

    /// Waits for a duration, or until the task or the context is cancelled.
    /// - Throws: `CancellationError`, or the error of the context's ``cancelReason``.
    public func sleep(for duration: Duration) async throws {
        try checkCancellation()
        guard duration > .zero else { return }
        try await report(waitingFor: "sleep") { _ in try await pause(for: duration) }
    }

    private func pause(for duration: Duration) async throws {
        let moment = OneShot<Void>()
        // Registered before the timer: once a test clock sees the timer, cancellations are handled.
        let registration = onCancel { moment.settle(.failure($0.error)) }
        let timer = timeSource.schedule(after: duration) { moment.settle(.success(())) }
        defer {
            timer.cancel()
            registration.end()
        }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }

    /// Reports that a redirect is followed.
    ///
    /// The outer loggers and the readers of the call receive the report, and ``hops`` gets an
    /// entry. A redirect does not count as a send, so the gate needs its own limit.
    /// - Parameters:
    ///   - request: The request that was redirected.
    ///   - following: The request that follows the redirect.
    ///   - head: The head of the redirect.
    public func didRedirect(_ request: Request, to following: Request, because head: ResponseHead) {
        call.record.add(Hop(status: head.status, url: request.url))
        tell(.redirecting(following, because: head))
    }

    // MARK: The chain's side

    var isRead: Bool { call.stream != nil }

    /// Reports an event to the readers of the call and to the outer loggers, innermost first.
    func tell(_ step: @autoclosure () -> CallStep) {
        if call.stream == nil && observers == nil { return }
        let step = step()
        call.stream?.tell(step, in: self)
        guard var observer = observers,
            var event = CallEvent(step, in: self, since: observer.began)
        else { return }
        while true {
            observer.logger.log(event)
            guard let outer = observer.rest else { return }
            observer = outer
            event.passBegan = observer.began
        }
    }

    /// Begins a part of the call; returns the context for the part, or nil without readers.
    func entering(_ part: @autoclosure () -> CallPart) -> Context? {
        guard let stream = call.stream else { return nil }
        let part = part()
        let inner = within(stream.place(of: part))
        stream.tell(.entered(part, in: self.part), in: inner)
        return inner
    }

    func left(_ result: Result<HTTPStatus?, any Error>) {
        call.stream?.tell(.left(result), in: self)
    }

    /// Runs a part of the chain of a call that has readers.
    ///
    /// Inlined, because an asynchronous frame sometimes costs an allocation.
    @inline(__always)
    func passing(
        _ part: CallPart, _ pass: (Context) async throws -> Response
    ) async throws -> Response {
        guard let inner = entering(part) else { return try await pass(self) }
        do {
            let response = try await pass(inner)
            inner.left(.success(response.status))
            return response
        } catch {
            inner.left(.failure(error))
            throw error
        }
    }
}

extension Context {
    /// Returns the message of an error without secrets and control characters.
    ///
    /// Use it in a gate that records errors elsewhere. For a ``ClientError`` the message is
    /// ``ClientError/message``, for any other error the description. Secrets of the request, of the
    /// call's last sent request and of the response are hidden.
    /// - Parameters:
    ///   - error: The error.
    ///   - request: The request as it reached the gate.
    ///   - head: The head of the response; nil means the head in the error.
    ///   - redaction: The rules for hiding secrets.
    /// - Returns: The message.
    public func shownMessage(
        of error: any Error, for request: Request, head: ResponseHead? = nil,
        redaction: Redaction = .standard
    ) -> String {
        let known = error as? ClientError
        let rules = redaction.hiding(
            secretsOf: [request, call.record.lastSent], [head?.headers, known?.response?.headers],
            content: known?.responseBody ?? Data())
        return known.map { rules.text($0.message) } ?? ClientError.describe(error, rules)
    }
}
