extension Settings {
    /// State that outlives a reload of the stack: what an earlier stack made under the same gate
    /// and key, if it was made by equal settings, or else new.
    /// - Parameters:
    ///   - key: What the state is, within its gate.
    ///   - settings: What it was made from.
    ///   - make: Makes it.
    /// - Returns: The state.
    public func kept<State: AnyObject & Sendable>(
        _ key: String, for settings: some Hashable & Sendable, _ make: () throws -> State
    ) rethrows -> State {
        try state.value("\(stateKey)/\(key)", for: AnyHashableSendable(settings), make)
    }

    /// State that gates of one stack share, and that outlives a reload of it as ``kept(_:for:_:)``
    /// does.
    /// - Parameters:
    ///   - key: What the state is; gates that give the same key and equal settings get the same.
    ///   - settings: What it was made from.
    ///   - make: Makes it.
    /// - Returns: The state.
    public func shared<State: AnyObject & Sendable, From: Hashable & Sendable>(
        _ key: String, for settings: From, _ make: () throws -> State
    ) rethrows -> State {
        let settings = AnyHashableSendable(settings)
        return try state.value("\(key)/\(settings.hashValue)", for: settings, make)
    }
}
