import Synchronization

/// What surrounds a request on its way: identity, time, chance, values, events, and cancellation.
///
/// A context belongs to one call, and to one attempt of it. Gates pass it on by calling `next`; a
/// gate that may have to stop what is inside it makes a ``child(deadline:)`` and passes that.
///
/// ```swift
/// let inner = context.child()
/// let timer = context.timeSource.schedule(after: limit) { inner.cancel(.failed(TooSlow())) }
/// defer { timer.cancel() }
/// return try await next(request, context: inner)
/// ```
public final class Context: Sendable {
    private struct State {
        var reason: CancelReason?
        var handlers = CancelHandlers()
        var link: CancelRegistration?
    }

    package let call: CallState
    package let observers: ObserverList?
    private let parent: Context?
    private let values: ContextValues?
    private let state = Mutex(State())
    private let isCancelledFlag = Atomic(false)

    /// The attempt's number within its call, from 1.
    ///
    /// Without a retry the whole call is attempt 1.
    public let attempt: Int

    /// When the call must have ended, by the strictest deadline outside of here; nil without one.
    public let deadline: MonotonicInstant?

    /// Creates a context that belongs to no client, for tests of gates and transports.
    public convenience init(
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.init(
            call: CallState(
                id: CallID(client: 0, number: 0),
                environment: CallEnvironment(timeSource: timeSource, randomSource: randomSource)))
    }

    /// Creates the outermost context of a call.
    /// - Parameters:
    ///   - call: The call.
    ///   - parent: A context whose cancellation ends the call.
    ///   - observers: The loggers that hear of it.
    package init(call: CallState, parent: Context? = nil, observers: ObserverList? = nil) {
        self.call = call
        self.parent = parent
        self.observers = observers
        values = nil
        attempt = 1
        deadline = nil
    }

    private init(
        parent: Context, attempt: Int, deadline: MonotonicInstant?, observers: ObserverList?,
        values: ContextValues?
    ) {
        call = parent.call
        self.parent = parent
        self.attempt = attempt
        self.deadline = deadline
        self.observers = observers
        self.values = values
    }

    deinit { state.withLock { $0.link }?.end() }

    // MARK: Identity, time and chance

    /// The call's identifier: stable over its attempts.
    public var id: CallID { call.id }

    /// The clocks and timers of the call.
    public var timeSource: any TimeSource { call.environment.timeSource }

    /// The call's random generator.
    ///
    /// With a seeded source its sequence depends on the call alone.
    public var random: CallRandom { call.random }

    /// The origin of the client's base URL, or nil where it has none.
    ///
    /// A gate that holds a credential is for this origin if it is told no other.
    public var baseOrigin: Origin? { call.environment.baseOrigin }

    /// The time left until the deadline, or nil without one.
    public var timeLeft: Duration? {
        deadline.map { max(timeSource.now.duration(to: $0), .zero) }
    }

    // MARK: Values

    /// The value under a key, in the key's scope.
    public subscript<Key: ContextKey>(key: Key.Type) -> Key.Value {
        get { scope(of: key)[key] }
        set { scope(of: key)[key] = newValue }
    }

    /// The value under a key, set now where there is none.
    ///
    /// Attempts that run side by side, as hedges do, get the same one.
    /// - Parameters:
    ///   - key: The key.
    ///   - make: Makes a value; it is let go of where another one came first.
    /// - Returns: The value that counts.
    public func value<Key: ContextKey, Value: Sendable>(
        of key: Key.Type, orSetting make: () -> Value
    ) -> Value where Key.Value == Value? {
        let values = scope(of: key)
        return values[key] ?? values.value(under: ObjectIdentifier(key), orSetting: make())
    }

    private var attemptValues: ContextValues {
        var context = self
        while context.values == nil, let outer = context.parent, outer.call === call {
            context = outer
        }
        return context.values ?? call.values
    }

    private func scope<Key: ContextKey>(of key: Key.Type) -> ContextValues {
        switch Key.scope {
        case .call: call.values
        case .attempt: attemptValues
        }
    }

    // MARK: Derived contexts

    /// A context for what is inside a gate, with a cancellation of its own.
    /// - Parameter deadline: When what is inside must have ended; the stricter of it and the
    ///   present deadline counts.
    /// - Returns: A context of the same attempt. It is cancelled when this one is.
    public func child(deadline: MonotonicInstant? = nil) -> Context {
        let strictest = [deadline, self.deadline].compactMap(\.self).min()
        return Context(
            parent: self, attempt: attempt, deadline: strictest, observers: observers, values: nil)
    }

    /// A context of the same call that the cancellations and deadlines around this one do not
    /// reach.
    ///
    /// It is for work that outlives the caller that began it, such as an exchange that several
    /// calls wait for. Who makes one cancels it; else it ends with the client. The loggers around
    /// this context hear of it.
    public func detached() -> Context {
        var outermost = self
        while let outer = outermost.parent, outer.call === call { outermost = outer }
        return Context(call: call, parent: outermost.parent, observers: observers)
    }

    /// A context of a call of its own, which the client's end alone reaches: for an exchange that a
    /// gate makes on behalf of many calls.
    ///
    /// It shares clocks and identifier with this call; values, sends and time limits are its own.
    package func sideCall() -> Context {
        let state = CallState(id: id, environment: call.environment, number: random.next())
        return Context(call: state, parent: detached().parent)
    }

    func freshAttempt() -> Context {
        Context(
            parent: self, attempt: call.record.nextAttempt(), deadline: deadline,
            observers: observers, values: ContextValues())
    }

    func observed(by logger: any RequestLogger) -> Context {
        Context(
            parent: self, attempt: attempt, deadline: deadline,
            observers: ObserverList(logger: logger, rest: observers), values: nil)
    }

    // MARK: Cancellation

    /// Why this context, or one around it, was cancelled; nil while it is not.
    public var cancelReason: CancelReason? {
        var context: Context? = self
        while let current = context {
            if current.isCancelledFlag.load(ordering: .acquiring) {
                return current.state.withLock { $0.reason }
            }
            context = current.parent
        }
        return nil
    }

    /// Ends what runs under this context: sends, waits and bodies.
    ///
    /// The first reason counts.
    public func cancel(_ reason: CancelReason) {
        let handlers = state.withLock { state in
            guard state.reason == nil else { return CancelHandlers() }
            state.reason = reason
            isCancelledFlag.store(true, ordering: .releasing)
            defer { state.handlers = CancelHandlers() }
            return state.handlers
        }
        for handler in handlers.inOrder { handler(reason) }
    }

    /// Calls a handler when this context, or one around it, is cancelled; at once, if it is.
    ///
    /// The handler runs on the cancelling thread and must return at once.
    /// - Returns: A registration to end when the handler is no longer wanted.
    public func onCancel(
        _ handler: @escaping @Sendable (CancelReason) -> Void
    ) -> CancelRegistration {
        linkToParent()
        let (id, reason) = state.withLock { state -> (UInt64, CancelReason?) in
            if let reason = state.reason { return (0, reason) }
            return (state.handlers.add(handler), nil)
        }
        if let reason { handler(reason) }
        return CancelRegistration(context: self, id: id)
    }

    /// Throws the reason's error if this context was cancelled, or `CancellationError` if the task
    /// was.
    public func checkCancellation() throws {
        try Task.checkCancellation()
        if let cancelReason { throw cancelReason.error }
    }

    /// Waits, but not beyond a cancellation of the task or the context.
    /// - Throws: `CancellationError`, or the error of the context's ``cancelReason``.
    public func sleep(for duration: Duration) async throws {
        try checkCancellation()
        guard duration > .zero else { return }
        let moment = OneShot<Void>()
        // In this order: who sees the timer can rely on it that a cancellation comes first.
        let registration = onCancel { moment.settle(.failure($0.error)) }
        let timer = timeSource.schedule(after: duration) { moment.settle(.success(())) }
        defer {
            timer.cancel()
            registration.end()
        }
        try await moment.value { moment.settle(.failure(CancellationError())) }
    }

    // A context hears of its parent's cancellation from the first registration on.
    private func linkToParent() {
        guard let parent, state.withLock({ $0.link == nil }) else { return }
        let link = parent.onCancel { [weak self] in self?.cancel($0) }
        let isSurplus = state.withLock { state in
            if state.link != nil { return true }
            state.link = link
            return false
        }
        if isSurplus { link.end() }
    }

    func remove(_ id: UInt64) {
        // Released outside the lock: what it captured may run code of its own.
        _ = state.withLock { $0.handlers.remove(id) }
    }
}
