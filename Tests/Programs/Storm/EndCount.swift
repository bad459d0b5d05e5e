import Synchronization
import Turnpike

/// The outermost gate: counts how often each call that passes it ends.
final class EndCount: Interceptor {
    private let ends = Mutex<[CallID: Int]>([:])

    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let id = context.id
        ends.withLock { $0[id] = 0 }
        do {
            let response = try await next(request)
            response.body.onEnd { [weak self] _ in self?.ended(id) }
            return response
        } catch {
            ended(id)
            throw error
        }
    }

    private func ended(_ id: CallID) { ends.withLock { $0[id, default: 0] += 1 } }

    /// How many calls came by.
    var count: Int { ends.withLock { $0.count } }

    /// What is wrong with the ends, or nil; a body that was let go of may take a moment.
    func fault() async -> String? {
        for _ in 0..<200 {
            if ends.withLock({ $0.values.allSatisfy { $0 == 1 } }) { return nil }
            try? await Task.sleep(for: .milliseconds(10))
        }
        let (open, twice) = ends.withLock { ends in
            (ends.values.count { $0 == 0 }, ends.values.count { $0 > 1 })
        }
        return "\(open) calls never ended, \(twice) ended more than once"
    }
}
