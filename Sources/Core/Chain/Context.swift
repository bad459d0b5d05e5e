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
    package let call: CallState
    package let observers: ObserverList?
    let scope: CancelScope
    private let parent: Context?
    private let beginsAttempt: Bool
    // Those of the attempt that begins here, if one does.
    private let values = ContextValues()

    /// The attempt's number within its call, from 1.
    ///
    /// Without a retry the whole call is attempt 1.
    public let attempt: Int

    /// When the call must have ended, by the strictest deadline outside of here; nil without one.
    public let deadline: MonotonicInstant?

    /// Whether a time limit outside of here ends with the head of the response.
    let isLimitedToHead: Bool

    /// How long the content may stand still that a retry inside keeps; nil where no gate says so.
    let idleBound: IdleBound?

    /// How much of the response's content is read before the caller gets a value: `Int.max` where
    /// all of it is, 0 where the caller gets the stream
    /// (``ResponseSerializer/collectedBytes(in:)``).
    public var collectedBytes: Int { call.collectedBytes }

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
    ///   - observers: The loggers that hear of it.
    package init(call: CallState, observers: ObserverList? = nil) {
        self.call = call
        self.observers = observers
        scope = CancelScope(inside: call.parent?.scope)
        parent = nil
        beginsAttempt = false
        attempt = 1
        deadline = nil
        isLimitedToHead = false
        idleBound = nil
    }

    private init(
        parent: Context, freshAttempt: Int? = nil, deadline: MonotonicInstant?,
        isLimitedToHead: Bool = false, idleBound: IdleBound? = nil, observers: ObserverList?
    ) {
        call = parent.call
        scope = CancelScope(inside: parent.scope)
        self.parent = parent
        attempt = freshAttempt ?? parent.attempt
        beginsAttempt = freshAttempt != nil
        self.deadline = deadline
        self.isLimitedToHead = isLimitedToHead || parent.isLimitedToHead
        self.idleBound = idleBound ?? parent.idleBound
        self.observers = observers
    }

    deinit { if scope.isAwaited { call.cancelTree.removeAll(in: scope) } }

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
        get {
            guard let value = find(ObjectIdentifier(key), in: Key.scope) else {
                return Key.defaultValue
            }
            return Self.cast(value, for: key)
        }
        set { withValues(of: Key.scope) { $0[ObjectIdentifier(key)] = newValue } }
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
        let id = ObjectIdentifier(key)
        if let present = find(id, in: Key.scope) as? Value { return present }
        let fresh = make()
        return withValues(of: Key.scope) { $0.value(under: id, orSetting: fresh) }
    }

    // By itself: a cast costs something even where there is nothing.
    @inline(never)
    private static func cast<Key: ContextKey>(
        _ value: any Sendable, for key: Key.Type
    ) -> Key.Value { value as? Key.Value ?? Key.defaultValue }

    private func find(_ id: ObjectIdentifier, in scope: ContextScope) -> (any Sendable)? {
        withValues(of: scope) { $0[id] }
    }

    private func withValues<Result>(
        of scope: ContextScope, _ use: (borrowing ContextValues) -> Result
    ) -> Result {
        var context = self
        while scope == .attempt {
            if context.beginsAttempt { return use(context.values) }
            guard let outer = context.parent else { break }
            context = outer
        }
        return use(call.values)
    }

    // MARK: Derived contexts

    /// A context for what is inside a gate, with a cancellation of its own.
    /// - Parameter deadline: When what is inside must have ended; the stricter of it and the
    ///   present deadline counts.
    /// - Returns: A context of the same attempt. It is cancelled when this one is.
    public func child(deadline: MonotonicInstant? = nil) -> Context {
        let strictest =
            if let deadline, let outer = self.deadline { min(deadline, outer) } else {
                deadline ?? self.deadline
            }
        return Context(parent: self, deadline: strictest, observers: observers)
    }

    /// A ``child(deadline:)`` for a time limit that ends with the head of the response.
    func childUpToHead() -> Context {
        Context(parent: self, deadline: deadline, isLimitedToHead: true, observers: observers)
    }

    /// A ``child(deadline:)`` in which the content that a retry keeps may stand still for so long.
    package func child(idleBound: IdleBound) -> Context {
        Context(parent: self, deadline: deadline, idleBound: idleBound, observers: observers)
    }

    /// A context of the same call that the cancellations and deadlines around this one do not
    /// reach.
    ///
    /// It is for work that outlives the caller that began it, such as an exchange that several
    /// calls wait for. Who makes one cancels it; else it ends with the client. The loggers around
    /// this context hear of it.
    public func detached() -> Context { Context(call: call, observers: observers) }

    /// A context of a call of its own, which the client's end alone reaches: for an exchange that a
    /// gate makes on behalf of many calls.
    ///
    /// It shares clocks and identifier with this call; values, sends and time limits are its own.
    /// - Parameter isOneTime: Whether not even the client's end reaches it
    ///   (``RequestOptions/isOneTime``); then the caller ends it.
    /// - Returns: The context.
    package func sideCall(isOneTime: Bool = false) -> Context {
        Context(
            call: CallState(
                id: id, environment: call.environment, number: random.next(),
                parent: isOneTime ? nil : call.parent))
    }

    func freshAttempt() -> Context {
        Context(
            parent: self, freshAttempt: call.record.nextAttempt(), deadline: deadline,
            observers: observers)
    }

    func observed(by logger: any RequestLogger, since began: MonotonicInstant) -> Context {
        Context(
            parent: self, deadline: deadline,
            observers: ObserverList(logger: logger, began: began, rest: observers))
    }

    // MARK: Cancellation

    /// Why this context, or one around it, was cancelled; nil while it is not.
    public var cancelReason: CancelReason? { call.cancelTree.reason(of: scope) }

    /// Ends what runs under this context: sends, waits and bodies.
    ///
    /// The first reason counts.
    public func cancel(_ reason: CancelReason) { call.cancelTree.cancel(scope, reason) }

    /// Calls a handler when this context, or one around it, is cancelled; at once, if it is.
    ///
    /// The handler runs on the cancelling thread and must return at once.
    /// - Returns: A registration to end when the handler is no longer wanted.
    public func onCancel(
        _ handler: @escaping @Sendable (CancelReason) -> Void
    ) -> CancelRegistration {
        let place = call.cancelTree.add(scope, handler)
        if place == nil, let reason = cancelReason { handler(reason) }
        return CancelRegistration(context: self, place: place)
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
}
