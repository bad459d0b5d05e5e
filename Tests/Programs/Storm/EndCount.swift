// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike

/// The outermost gate: looks whether each call that passes it ends, and but once.
///
/// It remembers no more than the calls that are under way, for a storm looks at its memory.
final class EndCount: Interceptor {
    private struct State {
        var begun = 0
        var underWay: Set<CallID> = []
        var surplusEnds = 0
    }

    private let state = Mutex(State())

    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let id = context.id
        state.withLock { state in
            state.begun += 1
            state.underWay.insert(id)
        }
        do {
            let response = try await next(request)
            response.body.onEnd { [weak self] _ in self?.ended(id) }
            return response
        } catch {
            ended(id)
            throw error
        }
    }

    private func ended(_ id: CallID) {
        state.withLock { state in
            if state.underWay.remove(id) == nil { state.surplusEnds += 1 }
        }
    }

    /// How many calls came by.
    var count: Int { state.withLock { $0.begun } }

    /// What is wrong with the ends, or nil; a body that was let go of may take a moment.
    func fault() async -> String? {
        for _ in 0..<200 {
            if state.withLock({ $0.underWay.isEmpty && $0.surplusEnds == 0 }) { return nil }
            try? await Task.sleep(for: .milliseconds(10))
        }
        let state = state.withLock { $0 }
        return "\(state.underWay.count) calls never ended, \(state.surplusEnds) ended once more"
    }
}
