// SPDX-License-Identifier: Apache-2.0

extension Settings {
    /// Returns state that survives a reload of the stack: the state of an earlier stack with the
    /// same gate and key if its settings were equal, otherwise new state.
    /// - Parameters:
    ///   - key: Identifies the state within its gate.
    ///   - settings: What the state was created from. Leave out settings that can be applied to
    ///     existing state.
    ///   - update: Applies this gate's settings to state of an earlier stack, once the new stack is
    ///     in force. Not called for a file that is rejected.
    ///   - make: Creates the state.
    /// - Returns: The state.
    public func kept<State: AnyObject & Sendable>(
        _ key: String, for settings: some Hashable & Sendable,
        updating update: (@Sendable (State) -> Void)? = nil, _ make: () throws -> State
    ) rethrows -> State {
        try state.value(
            "\(stateKey)/\(key)", for: AnyHashableSendable(settings), updating: update, make)
    }

    /// Returns state that several gates of one stack share and that survives a reload, as with
    /// ``kept(_:for:updating:_:)``.
    /// - Parameters:
    ///   - key: Identifies the state. Gates with the same key and equal settings share it.
    ///   - settings: What the state was created from. Leave out settings that can be applied to
    ///     existing state.
    ///   - update: Applies this gate's settings to existing state, once the stack is in force.
    ///   - make: Creates the state.
    /// - Returns: The state.
    public func shared<State: AnyObject & Sendable, From: Hashable & Sendable>(
        _ key: String, for settings: From,
        updating update: (@Sendable (State) -> Void)? = nil, _ make: () throws -> State
    ) rethrows -> State {
        let settings = AnyHashableSendable(settings)
        return try state.value(
            "\(key)/\(settings.hashValue)", for: settings, updating: update, make)
    }

    /// Returns an object that all stacks of one registry and its copies share, for objects that
    /// must exist only once in a program, such as the writer of a file.
    /// - Parameters:
    ///   - key: Identifies the object.
    ///   - make: Creates the object, once.
    /// - Returns: The shared object.
    package func common<State: AnyObject & Sendable>(
        _ key: String, _ make: () -> State
    ) -> State {
        common.value(key, make)
    }
}

extension Registry {
    /// Returns an object that all stacks of the registry share; see ``Settings/common(_:_:)``.
    package func common<State: AnyObject & Sendable>(
        _ key: String, _ make: () -> State
    ) -> State {
        common.value(key, make)
    }
}
