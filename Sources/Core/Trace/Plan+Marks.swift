// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

// How the passes of a traced call through its chain are marked. A call without a trace never comes
// here.
extension Plan {
    /// The name of the gate at a position.
    func gateName(at position: Int) -> String {
        if let names = gateNames.withLock({ $0 }) { return names[position] }
        let names = nodes.map(\.gateName)
        gateNames.withLock { $0 = names }
        return names[position]
    }

    /// Runs the chain from a position on, and marks the attempt if one begins here, the pass through
    /// each gate, and the exchange.
    func run(
        _ request: Request, from start: Int, in context: Context, _ recorder: TraceRecorder
    ) async throws -> Response {
        if context.beginsAttempt {
            return try await recorder.mark(.attempt(context.attempt), in: context) { context in
                try await run(request, from: start, in: context, recorder)
            }
        }
        var request = request
        var position = start
        // What wraps the rest of the chain ends the loop, and comes back here behind its own gate.
        while position < nodes.count {
            switch nodes[position] {
            case .group(let group, let count):
                position += group.applies(to: request, context: context) ? 1 : 1 + count
            case .adapt, .adaptNow:
                try await adapt(&request, at: position, in: context, recorder)
                position += 1
            case .idle: position += 1
            case .interceptor, .metrics, .log, .retry, .validate:
                let gate = RecordedTrace.Kind.gate(self, position: position)
                return try await recorder.mark(gate, in: context) { [request] context in
                    try await run(request, from: position, in: context, isMarked: true)
                }
            }
        }
        return try await send(request, in: context)
    }

    private func adapt(
        _ request: inout Request, at position: Int, in context: Context, _ recorder: TraceRecorder
    ) async throws {
        let span = recorder.begin(.gate(self, position: position), in: context.span)
        let context = span.map { context.within($0) } ?? context
        do {
            switch nodes[position] {
            case .adapt(let adapter): try await adapter.adapt(&request, context: context)
            case .adaptNow(let adapter): try adapt(adapter, &request, context)
            default: break
            }
            if let span { recorder.end(span, .returned(nil)) }
        } catch {
            if let span { recorder.end(span, RecordedTrace.Outcome(error)) }
            throw error
        }
    }
}

extension Plan.Node {
    fileprivate var gateName: String {
        switch self {
        case .group(let gate, _): gate.gateName
        case .interceptor(let gate): gate.gateName
        case .metrics(let gate): gate.gateName
        case .log(let gate): gate.gateName
        case .retry(let gate): gate.gateName
        case .validate(let gate): gate.gateName
        case .adapt(let gate): gate.gateName
        case .adaptNow(let gate): gate.gateName
        case .idle(let gate): gate.gateName
        }
    }
}

extension TraceRecorder {
    /// Marks a part of the chain that returns a response.
    ///
    /// Inlined, because each asynchronous frame costs an allocation now and then.
    @inline(__always)
    fileprivate func mark(
        _ kind: RecordedTrace.Kind, in context: Context,
        _ part: (Context) async throws -> Response
    ) async throws -> Response {
        guard let span = begin(kind, in: context.span) else {
            // No longer the beginning of an attempt.
            return try await part(context.within(context.span))
        }
        do {
            let response = try await part(context.within(span))
            end(span, .returned(response.status))
            return response
        } catch {
            end(span, RecordedTrace.Outcome(error))
            throw error
        }
    }
}

/// The mark of an exchange in the call's trace.
struct ExchangeMark {
    /// The context of what happens within the exchange.
    let context: Context
    private let recorder: TraceRecorder
    private let span: Int

    /// Begins the mark, unless the call has no trace or its trace is full.
    init?(_ request: Request, at now: MonotonicInstant, in context: Context) {
        guard let recorder = context.call.recorder,
            let span = recorder.send(request, in: context.span, at: now)
        else { return nil }
        self.context = context.within(span)
        self.recorder = recorder
        self.span = span
    }

    func receive(_ response: Response) { recorder.receive(response, in: span) }

    func fail(_ error: any Error) { recorder.end(span, RecordedTrace.Outcome(error)) }
}
