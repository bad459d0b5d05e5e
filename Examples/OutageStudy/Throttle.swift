// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike
import TurnpikeCore

/// A published rule that decides which calls a client sends.
protocol ThrottleRule: Sendable {
    /// Whether a call may be sent.
    /// - Parameters:
    ///   - now: The time in seconds.
    ///   - underWay: How many attempts are running.
    ///   - unit: A random number in 0..<1.
    /// - Returns: Whether the call may be sent.
    mutating func admits(at now: Double, underWay: Int, unit: Double) -> Bool

    /// Records the end of an attempt.
    /// - Parameters:
    ///   - accepted: Whether the server answered successfully and in time.
    ///   - wait: How long the attempt took, in seconds.
    ///   - now: The time in seconds.
    ///   - underWay: How many attempts were running, including this one.
    mutating func learn(accepted: Bool, wait: Double, at now: Double, underWay: Int)
}

/// A gate that refuses calls that a rule does not admit.
struct Throttle: Interceptor {
    private struct State {
        var rule: any ThrottleRule
        var underWay = 0
    }

    private final class Box: Sendable {
        let state: Mutex<State>
        init(_ rule: any ThrottleRule) { state = Mutex(State(rule: rule)) }
    }

    private let box: Box

    init(_ rule: any ThrottleRule) { box = Box(rule) }

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        let begin = Self.seconds(context)
        let unit = context.random.unit()
        let isAdmitted = box.state.withLock { state in
            guard state.rule.admits(at: begin, underWay: state.underWay, unit: unit) else {
                return false
            }
            state.underWay += 1
            return true
        }
        guard isAdmitted else { throw ClientError(.overloaded, "the rule refuses the call") }
        do {
            let response = try await next(request)
            learn(response.status.isSuccessful, begin, context)
            return response
        } catch {
            learn(false, begin, context)
            throw error
        }
    }

    private func learn(_ accepted: Bool, _ begin: Double, _ context: Context) {
        let now = Self.seconds(context)
        box.state.withLock { state in
            state.rule.learn(
                accepted: accepted, wait: now - begin, at: now, underWay: state.underWay)
            state.underWay -= 1
        }
    }

    private static func seconds(_ context: Context) -> Double {
        Double(context.timeSource.now.nanoseconds) / 1e9
    }
}
