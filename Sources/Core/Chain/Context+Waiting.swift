// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Context {
    /// Waits for a duration, or until the task or the context is cancelled.
    /// - Throws: `CancellationError`, or the error of the context's ``cancelReason``.
    public func sleep(for duration: Duration) async throws {
        try checkCancellation()
        guard duration > .zero else { return }
        try await waiting("sleep") { _ in try await pause(for: duration) }
    }

    private func pause(for duration: Duration) async throws {
        let moment = OneShot<Void>()
        // Registered before the timer: when a test clock sees the timer, a cancellation is already
        // handled.
        let registration = onCancel { moment.settle(.failure($0.error)) }
        let timer = timeSource.schedule(after: duration) { moment.settle(.success(())) }
        defer {
            timer.cancel()
            registration.end()
        }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }

    /// Marks in the call's trace what an operation waits for, so that ``Trace`` shows the time.
    ///
    /// ```swift
    /// let entry = try await context.waiting("look in the cache") { _ in try await store.entry(key) }
    /// ```
    ///
    /// ``sleep(for:)`` marks itself. A wait within another wait is part of it, and is not marked.
    /// Without a trace it only runs the operation.
    /// - Parameters:
    ///   - name: What is waited for, for people: `back-off`. Asked for only if there is a trace.
    ///   - phrase: What the error of a deadline says that passes meanwhile, after "it was waiting": `in
    ///     line for a permit`. Nil for nothing; an earlier exchange that is still under way goes first.
    ///   - operation: The operation. It gets the context for what it does, which is this one but for
    ///     the place in the trace: exchanges that it makes there lie within the wait.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public func waiting<Value>(
        _ name: @autoclosure () -> String, atDeadline phrase: @autoclosure () -> String? = nil,
        _ operation: (Context) async throws -> Value
    ) async rethrows -> Value {
        guard let phrase = phrase() else { return try await marked(name, operation) }
        call.record.waits(phrase)
        do {
            let value = try await marked(name, operation)
            call.record.waits(nil)
            return value
        } catch {
            // Only a deadline that passed ended the wait for want of what it waits for.
            if timeLeft.map({ $0 > .zero }) ?? true { call.record.waits(nil) }
            throw error
        }
    }

    private func marked<Value>(
        _ name: () -> String, _ operation: (Context) async throws -> Value
    ) async rethrows -> Value {
        guard let recorder = call.recorder, let wait = recorder.beginWait(name, in: span) else {
            return try await operation(self)
        }
        do {
            let value = try await operation(within(wait))
            recorder.end(wait, .returned(nil))
            return value
        } catch {
            recorder.end(wait, RecordedTrace.Outcome(error))
            throw error
        }
    }

    /// The recorder of the trace, if the call waits for what happens here.
    var waitingRecorder: TraceRecorder? {
        call.recorder.flatMap { $0.isWait(span) ? $0 : nil }
    }
}
