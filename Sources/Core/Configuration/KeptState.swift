// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The state of gates that survives a reload, such as circuit breakers, budgets, cookie jars and
/// caches, by key.
final class KeptState: Sendable {
    private struct Entry: Sendable {
        let settings: AnyHashableSendable
        let value: any AnyObject & Sendable
    }

    private struct Contents {
        var entries: [String: Entry] = [:]
        // The state that an earlier stack created.
        var before: [String: Entry] = [:]
        var updates: [@Sendable () -> Void] = []
    }

    private let contents: Mutex<Contents>

    /// Creates state for a first stack.
    init() { contents = Mutex(Contents()) }

    /// Creates the state for a stack that replaces another.
    ///
    /// State that the new stack does not request is released.
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

    /// Called when a stack is in force: applies the new settings to kept state and releases the
    /// rest.
    func settle() {
        let (updates, _) = contents.withLock { contents in
            defer {
                contents.updates = []
                contents.before = [:]
            }
            // Released state is destroyed outside the lock.
            return (contents.updates, contents.before)
        }
        for update in updates { update() }
    }
}

/// A type-erased hashable value that is also sendable.
struct AnyHashableSendable: Hashable, Sendable {
    // SAFETY: created from a Sendable value and only compared.
    private nonisolated(unsafe) let value: AnyHashable

    init(_ value: some Hashable & Sendable) { unsafe self.value = AnyHashable(value) }

    static func == (left: Self, right: Self) -> Bool { unsafe left.value == right.value }

    func hash(into hasher: inout Hasher) { unsafe hasher.combine(value) }
}
