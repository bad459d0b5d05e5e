import TurnpikeCore

/// Who waits until something holds for facts that change: kept behind the lock of those facts.
struct Waiters<Facts> {
    /// A moment that is settled once the condition holds, or its waiter is cancelled.
    typealias Moment = OneShot<Void>

    private var entries: [(condition: @Sendable (Facts) -> Bool, moment: Moment)] = []

    var isEmpty: Bool { entries.isEmpty }

    /// Adds one who waits; gives nil, and adds nobody, where the condition holds.
    mutating func add(
        _ facts: Facts, _ condition: @escaping @Sendable (Facts) -> Bool
    ) -> Moment? {
        if condition(facts) { return nil }
        let moment = Moment()
        entries.append((condition, moment))
        return moment
    }

    /// Takes out those whose conditions hold, to be settled outside the lock; each is asked once.
    mutating func takeReady(_ facts: Facts) -> [Moment] {
        var ready: [Moment] = []
        entries.removeAll { entry in
            guard entry.condition(facts) else { return false }
            ready.append(entry.moment)
            return true
        }
        return ready
    }

    /// Takes one out who no longer waits.
    mutating func remove(_ moment: Moment) { entries.removeAll { $0.moment === moment } }
}

extension OneShot<Void> {
    /// Returns when it is settled, which a cancellation does too, behind the closure.
    func wait(leaving leave: @escaping @Sendable (OneShot<Void>) -> Void) async {
        // It throws nothing but what is settled here.
        try? await value { [self] in
            leave(self)
            settle(.success(()))
        }
    }
}

extension [OneShot<Void>] {
    /// Lets all who wait go on.
    func settle() { for moment in self { moment.settle(.success(())) } }
}
