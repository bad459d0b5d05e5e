// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike

/// How the calls of a storm ended.
final class StormTally: Sendable {
    private struct State {
        var ends: [String: Int] = ["finished": 0, "dropped": 0, "deadline": 0, "cancelled": 0]
        var times: [Double] = []
        var wrong: [String] = []
    }

    private let state = Mutex(State())

    func add(_ result: StormCall.Result, of plan: StormPlan, number: Int) {
        state.withLock { state in
            switch result.end {
            case .wrong(let text):
                state.wrong.append(
                    "call \(number) (\(plan.kind), standard: \(plan.isStandard)): \(text)")
            case .cancelled where plan.cancelAfter == nil:
                state.wrong.append("call \(number) (\(plan.kind)) was cancelled by nobody")
            default: state.ends["\(result.end)", default: 0] += 1
            }
            if let time = result.cancelTime { state.times.append(time / .milliseconds(1)) }
        }
    }

    /// What went wrong, or nil.
    var wrong: String? {
        let wrong = state.withLock { $0.wrong }
        if wrong.isEmpty { return nil }
        return "\(wrong.count) calls went wrong: " + wrong.prefix(5).joined(separator: "; ")
    }

    /// How many calls ended how.
    var ends: JSONValue {
        let ends = state.withLock { $0.ends }.sorted { $0.key < $1.key }
        return .object(JSONObject(ends.map { ($0.key, .number(JSONNumber($0.value))) }))
    }

    /// From cancellations to the return of who waited, in milliseconds.
    var times: [Double] { state.withLock { $0.times } }
}
