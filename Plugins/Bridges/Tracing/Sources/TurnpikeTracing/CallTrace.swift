// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tracing
import TurnpikeEssentials

final class CallTrace: Sendable {
    let call: CallID
    let span: any Span
    private let template: String?
    private let origin: Origin?
    private let path: String
    private let sends = Atomic<Int>(0)

    init(_ call: CallID, span: any Span, of request: Request, template: String?) {
        self.call = call
        self.span = span
        self.template = template
        origin = request.origin
        path = template == nil ? "" : request.targetURI.path
    }

    /// Returns the template if it belongs to the request's URL, or nil, as after some redirects.
    func template(for request: Request) -> String? {
        guard let template, request.origin == origin, request.targetURI.path == path else {
            return nil
        }
        return template
    }

    func nextSend() -> Int { sends.add(1, ordering: .relaxed).oldValue }

    /// Returns the trace of a context's call.
    ///
    /// The trace of the task has priority. A detached task of a gate has no trace.
    static func current(in context: Context) -> CallTrace? {
        if let trace = ServiceContext.current?[InTask.self], trace.call == context.id {
            return trace
        }
        return context[InCall.self]
    }

    enum InTask: ServiceContextKey {
        typealias Value = CallTrace
        static var nameOverride: String? { "turnpike-call" }
    }

    /// The trace of the call, for events outside of the call's task.
    enum InCall: ContextKey {
        static let defaultValue: CallTrace? = nil
    }
}

/// Whether calls create no spans.
enum Suppression: ServiceContextKey {
    typealias Value = Bool
    static var nameOverride: String? { "turnpike-tracing-suppressed" }

    static var isOn: Bool { ServiceContext.current?[Suppression.self] ?? false }
}
