// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore

/// The state of gates that survives a reload, such as circuit breakers, budgets, cookie jars and
/// caches.
final class ReloadableState: Sendable {
    private struct Entry: Sendable {
        let settings: any Hashable & Sendable
        let value: any Sendable
    }

    private struct Contents {
        var entries: [String: Entry] = [:]
        // The state that an earlier stack created.
        var before: [String: Entry] = [:]
        var updates: [@Sendable () -> Void] = []
    }

    private let contents: Mutex<Contents>

    init() { contents = Mutex(Contents()) }

    // Creates the state for a stack that replaces another stack. A state that the new stack does
    // not request is released.
    init(following other: ReloadableState) {
        contents = Mutex(Contents(before: other.contents.withLock { $0.entries }))
    }

    func value<State: Sendable>(
        _ key: String, for settings: some Hashable & Sendable,
        updating update: (@Sendable (State) -> Void)?, _ make: () throws -> State
    ) rethrows -> State {
        let entry = contents.withLock { $0.entries[key] ?? $0.before[key] }
        if let entry, AnyHashable(entry.settings) == AnyHashable(settings),
            let state = entry.value as? State
        {
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

    // Applies the new settings to the remaining state, and releases all other state. The client
    // calls this method when a stack is in use.
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

/// Objects that all stacks of one registry share, by key, for the lifetime of the registry.
final class CommonState: Sendable {
    private let values = Mutex<[String: any AnyObject & Sendable]>([:])

    func value<State: AnyObject & Sendable>(_ key: String, _ make: () -> State) -> State {
        values.withLock { values in
            if let known = values[key] as? State { return known }
            let new = make()
            values[key] = new
            return new
        }
    }
}

extension Settings {
    /// Returns state that survives a reload of the stack.
    ///
    /// If an earlier stack has state for the same gate and key with equal settings, the result is
    /// that state. If no earlier stack has this state, the result is new state.
    ///
    /// If several stacks share a gate, the gate itself can be the state.
    /// - Parameters:
    ///   - key: Identifies the state within the gate.
    ///   - settings: The settings from which the state was created. Leave out settings that
    ///     existing state can adopt.
    ///   - update: Applies the settings of this gate to the state of an earlier stack, when the new
    ///     stack is in use. If the file is rejected, the closure does not run.
    ///   - make: Creates the state.
    /// - Returns: The state.
    public func reloadable<State: Sendable>(
        _ key: String, for settings: some Hashable & Sendable,
        updating update: (@Sendable (State) -> Void)? = nil, _ make: () throws -> State
    ) rethrows -> State {
        try reading.state.value("\(stateKey)/\(key)", for: settings, updating: update, make)
    }

    /// Returns state that several gates of one stack share, and that survives a reload.
    ///
    /// See ``reloadable(_:for:updating:_:)``.
    /// - Parameters:
    ///   - key: Identifies the state. Gates with the same key and equal settings share the state.
    ///   - settings: The settings from which the state was created. Leave out settings that
    ///     existing state can adopt.
    ///   - update: Applies the settings of this gate to existing state, when the stack is in use.
    ///   - make: Creates the state.
    /// - Returns: The state.
    public func shared<State: Sendable, From: Hashable & Sendable>(
        _ key: String, for settings: From,
        updating update: (@Sendable (State) -> Void)? = nil, _ make: () throws -> State
    ) rethrows -> State {
        try reading.state.value(
            "\(key)/\(settings.hashValue)", for: settings, updating: update, make)
    }

    // Returns an object that all stacks of one registry and its copies share, such as the writer of
    // a file. The closure runs once for each key.
    func common<State: AnyObject & Sendable>(_ key: String, _ make: () -> State) -> State {
        reading.common.value(key, make)
    }
}
