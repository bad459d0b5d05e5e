import Synchronization

/// What a client tells of a call that is under way, fit to be printed: secrets are already gone.
public struct CallSummary: Sendable, Identifiable, CustomStringConvertible {
    /// The call's identifier, as logs show it.
    public let id: CallID
    /// The request as it was last sent, before that as it was described; nil for an exchange that a
    /// gate makes of its own and has not sent.
    public let request: RequestSummary?
    /// How long ago the call was begun.
    public let age: Duration

    /// Identifier, request and age in one line.
    public var description: String {
        "\(id) \(request?.description ?? "an exchange of a gate"), for \(age.text)"
    }
}

/// The calls that have something that is still open.
final class RunningCalls: Sendable {
    private struct Entry {
        let id: CallID
        // Not the call itself, whose end is that nobody holds it.
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

    /// The calls, the oldest first.
    func summaries(at now: MonotonicInstant) -> [CallSummary] {
        let entries = state.withLock { $0.entries.compactMap(\.self) }
        return entries.map { entry in
            let (request, start) = entry.record.beginning
            return CallSummary(
                id: entry.id, request: request.map { RequestSummary($0) },
                age: start?.duration(to: now) ?? .zero)
        }.sorted { ($0.age, $1.id.number) > ($1.age, $0.id.number) }
    }

    /// Adds a call.
    /// - Returns: Its place, to remove it from.
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

    /// Something that is settled as soon as nothing is open.
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
