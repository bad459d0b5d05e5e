import Synchronization

/// What gates remember beyond one stack: breakers, budgets, jars, caches, under the gate's key.
final class KeptState: Sendable {
    private struct Entry: Sendable {
        let settings: AnyHashableSendable
        let value: any AnyObject & Sendable
    }

    private struct Contents {
        var entries: [String: Entry] = [:]
        // What an earlier stack made.
        var before: [String: Entry] = [:]
        var updates: [@Sendable () -> Void] = []
    }

    private let contents: Mutex<Contents>

    /// Creates state for a first stack.
    init() { contents = Mutex(Contents()) }

    /// Creates state for a stack that follows another; what it does not ask for is let go of.
    init(following other: KeptState) {
        contents = Mutex(Contents(before: other.contents.withLock { $0.entries }))
    }

    func value<State: AnyObject & Sendable>(
        _ key: String, for settings: AnyHashableSendable,
        updating update: (@Sendable (State) -> Void)?, _ make: () throws -> State
    ) rethrows -> State {
        let entry = contents.withLock { $0.entries[key] ?? $0.before[key] }
        if let entry, entry.settings == settings, let state = entry.value as? State {
            contents.withLock { contents in
                contents.entries[key] = entry
                if let update { contents.updates.append { update(state) } }
            }
            return state
        }
        let state = try make()
        contents.withLock { $0.entries[key] = Entry(settings: settings, value: state) }
        return state
    }

    /// Ends the making of a stack, once it is in force: brings what was kept up to its settings, and
    /// lets go of the rest.
    func settle() {
        let (updates, _) = contents.withLock { contents in
            defer {
                contents.updates = []
                contents.before = [:]
            }
            // What is let go of ends outside the lock.
            return (contents.updates, contents.before)
        }
        for update in updates { update() }
    }
}

/// A hashable value of any type that may be shared.
struct AnyHashableSendable: Hashable, Sendable {
    // SAFETY: it was made from a value that is Sendable, and is only compared.
    private nonisolated(unsafe) let value: AnyHashable

    init(_ value: some Hashable & Sendable) { unsafe self.value = AnyHashable(value) }

    static func == (left: Self, right: Self) -> Bool { unsafe left.value == right.value }

    func hash(into hasher: inout Hasher) { unsafe hasher.combine(value) }
}
