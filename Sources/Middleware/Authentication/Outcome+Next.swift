// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension Outcome {
    /// The outcome of the rest of the chain.
    static func of(_ request: Request, _ next: Next) async -> Outcome {
        do {
            return Outcome(request: request, result: .success(try await next(request)))
        } catch {
            return Outcome(request: request, result: .failure(error))
        }
    }

    /// The outcome of a new attempt.
    static func ofAttempt(_ request: Request, _ next: Next) async -> Outcome {
        do {
            return Outcome(request: request, result: .success(try await next.attempt(request)))
        } catch {
            return Outcome(request: request, result: .failure(error))
        }
    }
}
