import Synchronization

/// What gates remember beyond one stack: breakers, budgets, jars, caches, under the gate's key.
final class KeptState: Sendable {
    private struct Entry: Sendable {
        let settings: AnyHashableSendable
        let value: any AnyObject & Sendable
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let before: [String: Entry]

    /// Creates state for a first stack.
    init() { before = [:] }

    /// Creates state for a stack that follows another; what it does not ask for is let go of.
    init(following other: KeptState) { before = other.entries.withLock { $0 } }

    func value<State: AnyObject & Sendable>(
        _ key: String, for settings: AnyHashableSendable, _ make: () throws -> State
    ) rethrows -> State {
        let entry = entries.withLock { $0[key] } ?? before[key]
        if let entry, entry.settings == settings, let state = entry.value as? State {
            entries.withLock { $0[key] = entry }
            return state
        }
        let state = try make()
        entries.withLock { $0[key] = Entry(settings: settings, value: state) }
        return state
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
