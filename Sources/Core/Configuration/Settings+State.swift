extension Settings {
    /// State that outlives a reload of the stack: what an earlier stack made under the same gate
    /// and key, if it was made by equal settings, or else new.
    /// - Parameters:
    ///   - key: What the state is, within its gate.
    ///   - settings: What it was made from; what only rules over it is no part of that.
    ///   - update: Brings state that an earlier stack made up to this gate's rules, once the stack
    ///     is in force; a file that is refused changes nothing.
    ///   - make: Makes it.
    /// - Returns: The state.
    public func kept<State: AnyObject & Sendable>(
        _ key: String, for settings: some Hashable & Sendable,
        updating update: (@Sendable (State) -> Void)? = nil, _ make: () throws -> State
    ) rethrows -> State {
        try state.value(
            "\(stateKey)/\(key)", for: AnyHashableSendable(settings), updating: update, make)
    }

    /// State that gates of one stack share, and that outlives a reload of it as ``kept(_:for:updating:_:)``
    /// does.
    /// - Parameters:
    ///   - key: What the state is; gates that give the same key and equal settings get the same.
    ///   - settings: What it was made from; what only rules over it is no part of that.
    ///   - update: Brings state that is there already up to this gate's rules, once the stack is in
    ///     force.
    ///   - make: Makes it.
    /// - Returns: The state.
    public func shared<State: AnyObject & Sendable, From: Hashable & Sendable>(
        _ key: String, for settings: From,
        updating update: (@Sendable (State) -> Void)? = nil, _ make: () throws -> State
    ) rethrows -> State {
        let settings = AnyHashableSendable(settings)
        return try state.value(
            "\(key)/\(settings.hashValue)", for: settings, updating: update, make)
    }

    /// What the parts of all stacks share that are made with one registry and its copies: what must
    /// not be there twice in a program, as what writes a file.
    /// - Parameters:
    ///   - key: What it is.
    ///   - make: Makes it, once.
    /// - Returns: The one that is there.
    package func common<State: AnyObject & Sendable>(
        _ key: String, _ make: () -> State
    ) -> State {
        common.value(key, make)
    }
}
