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

    func figures(
        _ options: StormOptions, closeTimes: [Double], descriptors: JSONValue, connections: Int,
        calls: Int, seconds: Double
    ) -> JSONValue {
        let state = state.withLock { $0 }
        let ends = state.ends.sorted { $0.key < $1.key }.map { ($0.key, whole($0.value)) }
        return [
            "program": "storm", "count": whole(options.count),
            "seed": .number(JSONNumber(options.seed)), "concurrency": whole(options.concurrency),
            "ends": .object(JSONObject(ends)),
            "cancelMilliseconds": spread(state.times), "closeMilliseconds": spread(closeTimes),
            "callsThroughChain": whole(calls),
            "descriptors": descriptors, "connections": whole(connections),
            "seconds": number(seconds), "peakMiB": number(ProcessMemory.peakMiB),
        ]
    }

    /// Of times in milliseconds, and the share of those within 50.
    private func spread(_ times: [Double]) -> JSONValue {
        let times = times.sorted()
        if times.isEmpty { return .null }
        func time(_ share: Double) -> JSONValue {
            number(times[Int(Double(times.count - 1) * share)])
        }
        let within = Double(times.count { $0 <= 50 }) / Double(times.count)
        return [
            "count": whole(times.count), "p50": time(0.5), "p99": time(0.99), "max": time(1),
            "within50": number(within),
        ]
    }

    private func whole(_ value: Int) -> JSONValue { .number(JSONNumber(value)) }

    private func number(_ value: Double) -> JSONValue {
        JSONNumber((value * 1000).rounded() / 1000).map(JSONValue.number) ?? .null
    }
}
