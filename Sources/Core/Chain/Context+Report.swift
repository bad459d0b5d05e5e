// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Context {
    /// Reports an action of a gate to the outer loggers and to the readers of the call.
    /// - Parameters:
    ///   - message: The action of the gate, without secrets; evaluated only if the call has
    ///     readers.
    ///   - gate: The name of the gate.
    ///   - describesPass: Whether the trace of the call shows the message beside the gate's name.
    public func report(
        _ message: @autoclosure () -> String, by gate: String, describesPass: Bool = false
    ) {
        tell(.note(gate: gate, message: message(), describesPass: describesPass))
    }

    /// Reports that an exchange has ended before its transport started the request.
    ///
    /// The error of a deadline has this text instead of the statement that the server has not
    /// answered. The outer loggers and the readers of the call receive the text, too.
    /// - Parameters:
    ///   - reason: Why the request was not started, without secrets.
    ///   - transport: The transport's name.
    public func report(notStartedBecause reason: String, by transport: String) {
        let text = "the request was not started because \(reason)"
        call.record.explainDeadline(text)
        report(text, by: transport)
    }

    /// Adds one to a counter of a gate, for the meter of the gate and the readers of the call.
    ///
    /// Outside a call, a gate adds to its counters directly (``GateFigures/add(_:to:labels:)``).
    /// - Parameters:
    ///   - name: The name of the counter.
    ///   - labels: The labels of the counter, which are evaluated only if the call has readers.
    ///   - figures: The counters of the gate.
    public func report(
        count name: String, labels: @autoclosure () -> [String: String] = [:],
        of figures: GateFigures
    ) {
        figures.add(1, to: name, labels: labels())
        call.stream?.tell(.counted(.counter(name, labels())), in: self)
    }

    /// Reports the reason and the duration of a wait, for traces.
    ///
    /// ```swift
    /// let entry = try await context.report(waitingFor: "look in the cache") { _ in try await store.entry(key) }
    /// ```
    ///
    /// The method ``sleep(for:)`` reports a wait without this method. A wait within another wait is
    /// a part of the outer wait, and is not reported. If the call has no readers, this method only
    /// runs the operation.
    /// - Parameters:
    ///   - name: The reason for the wait, for people, for example `back-off`. The name is evaluated
    ///     only if the call has readers.
    ///   - phrase: The text after "it was waiting" in the error of a deadline that ends during the
    ///     wait, for example `in line for a permit`. If nil, the error has no such text. If an
    ///     earlier exchange is still running, the error describes that exchange.
    ///   - message: The gate's message before the wait (``report(_:by:describesPass:)``), or nil.
    ///   - gate: The name of the gate, for the message.
    ///   - tellGauges: Updates the gauges of the gate (``GateFigures/tell(_:)``) at the start and
    ///     at the end of the wait.
    ///   - operation: The operation. The context of the operation differs from this context only in
    ///     the ``part``. Exchanges in the operation's context are parts of the wait.
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
            // After the wait, the reason for the wait is removed, except if the deadline ended the
            // wait.
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
        // The handler is registered before the timer, because a test may cancel as soon as the
        // test's clock has the timer.
        let registration = onCancel { moment.settle(.failure($0.error)) }
        let timer = timeSource.schedule(after: duration) { moment.settle(.success(())) }
        defer {
            timer.cancel()
            registration.end()
        }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }

    /// Reports that a gate follows a redirect.
    ///
    /// The outer loggers and the readers of the call receive the report, and ``hops`` gets an
    /// entry. The gate must limit the redirects, because a redirect does not count as a send.
    /// - Parameters:
    ///   - request: The request that was redirected.
    ///   - following: The request that follows the redirect.
    ///   - head: The head of the redirecting response.
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

    /// Begins a part of the call, and returns the context for the part; nil if no reader exists.
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

    /// The function is inlined, because an asynchronous frame may cost an allocation.
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
    /// A gate that records errors elsewhere uses this method. The message of a ``ClientError`` is
    /// ``ClientError/message``, and the message of any other error is the description. The message
    /// contains no secrets of the request, of the last sent request and of the response.
    /// - Parameters:
    ///   - error: The error.
    ///   - request: The request that reached the gate.
    ///   - head: The head of the response, or nil for the head in the error.
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
