// SPDX-License-Identifier: Apache-2.0

/// Runs one request through consecutive gates that act before and after the inner gates.
///
/// ``Plan/run(_:from:in:isEntered:)`` holds a `PhasedPass` in its frame while the inner gates run.
/// This type needs no list, because each gate's state is in the context of the gate.
struct PhasedPass {
    private let plan: Plan
    private let request: Request
    private let first: Int
    /// The next position or, after the inner gates have run, the position of the current gate.
    private(set) var position: Int
    private(set) var context: Context
    private var opened: UInt64 = 0
    /// Whether the inner gates need a separate task, because they may not react to a cancellation.
    private(set) var needsTask = false

    init(_ plan: Plan, _ request: Request, from position: Int, in context: Context) {
        self.plan = plan
        self.request = request
        self.context = context
        self.position = position
        first = position
    }

    /// Calls the method `before` of each gate, up to the first gate of another kind.
    mutating func enter() throws {
        while position < plan.nodes.count, position - first < UInt64.bitWidth {
            switch plan.nodes[position] {
            case .phased(let gate): try enter(gate)
            case .log(let logger): open(plan.begin(logger.value, request, in: context))
            case .validate: break
            default: return
            }
            position += 1
            // If the call has readers, each gate is a separate part of the call.
            if needsTask || context.isRead { return }
        }
    }

    private mutating func enter(_ gate: any PhasedGate) throws {
        let next = Next(plan: plan, position: position + 1, context: context)
        let inner = try gate.before(request, context, next)
        if inner === context { return }
        guard inner.isInside(context) else {
            throw ClientError(
                .configuration,
                "the gate \(gate.gate.gateName) passed on a context that is neither its own nor a child"
            )
        }
        needsTask = inner.isLimit && !plan.endsPromptly(from: position + 1)
        open(inner)
    }

    private mutating func open(_ inner: Context) {
        opened |= 1 << UInt64(position - first)
        context = inner
    }

    /// Passes a result through the gates, from the innermost gate outwards.
    /// - Returns: False if ``resume(_:)`` must be called for the gate at the position.
    mutating func leave(_ result: inout Result<Response, any Error>) -> Bool {
        while position > first {
            position -= 1
            let inner = context
            if opened & 1 << UInt64(position - first) != 0, let outer = inner.outer {
                context = outer
            }
            switch plan.nodes[position] {
            case .phased(let gate):
                if inner.isLimit, inner !== context { inner.finish(&result) }
                guard case .success(let response) = result else { return false }
                do {
                    if try !gate.after(response, request, context) { return false }
                } catch {
                    result = .failure(error)
                }
            case .log: plan.end(request, result, in: inner)
            case .validate(let validator):
                guard case .success(let response) = result else { break }
                if !validator.value.accepts(response, for: request, context: context) {
                    return false
                }
            default: break
            }
        }
        return true
    }

    func resume(_ result: Result<Response, any Error>) async throws -> Response {
        switch plan.nodes[position] {
        case .phased(let gate):
            try await gate.gate.resume(
                after: result, to: request, context: context,
                next: Next(plan: plan, position: position + 1, context: context))
        case .validate(let validator):
            try await plan.validate(result.get(), by: validator.value, for: request, in: context)
        default: try result.get()
        }
    }
}
