// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

final class OpenCalls: Sendable {
    private struct Entry {
        let id: CallID
        // An entry does not retain the call, because a call ends when nothing refers to the call.
        let record: CallRecord
    }

    private struct State {
        var entries: [Entry?] = []
        var free: [Int] = []
        var waiters: [OneShot<Void>] = []

        var count: Int { entries.count - free.count }
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }

    func summaries(at now: MonotonicInstant) -> [CallSummary] {
        let entries = state.withLock { $0.entries.compactMap(\.self) }
        return entries.map { entry in
            let (request, start) = entry.record.beginning
            return CallSummary(
                id: entry.id, request: request.map { RequestSummary($0) },
                age: start?.duration(to: now) ?? .zero)
        }.sorted { ($0.age, $1.id.number) > ($1.age, $0.id.number) }
    }

    func add(_ id: CallID, _ record: CallRecord) -> Int {
        let entry = Entry(id: id, record: record)
        return state.withLock { state in
            guard let place = state.free.popLast() else {
                state.entries.append(entry)
                return state.entries.count - 1
            }
            state.entries[place] = entry
            return place
        }
    }

    func remove(_ place: Int) {
        let waiters = state.withLock { state -> [OneShot<Void>] in
            state.entries[place] = nil
            state.free.append(place)
            guard state.count == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.settle(.success(())) }
    }

    func whenIdle() -> OneShot<Void> {
        let waiter = OneShot<Void>()
        let isIdle = state.withLock { state in
            if state.count > 0 { state.waiters.append(waiter) }
            return state.count == 0
        }
        if isIdle { waiter.settle(.success(())) }
        return waiter
    }
}

/// A summary of a running call without secrets.
public struct CallSummary: Sendable, Identifiable, CustomStringConvertible {
    /// The identifier of the call, which logs also contain.
    public let id: CallID
    /// The request as last sent or, before the first send, as described; nil for an exchange that a
    /// gate makes and has not sent.
    public let request: RequestSummary?
    /// The time since the call began.
    public let age: Duration

    /// The identifier, request and age in one line.
    public var description: String {
        "\(id) \(request?.description ?? "an exchange of a gate"), for \(age.text)"
    }
}
