// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The environment of a request in the chain of gates.
///
/// A context contains the identity of the call, clocks, randomness, values and cancellation. A
/// context belongs to one attempt of one call. A gate passes the context to `next`. A gate that may
/// cancel the inner gates passes a ``child(deadline:)`` instead.
///
/// ```swift
/// let inner = context.child()
/// let timer = context.timeSource.schedule(after: limit) { inner.cancel(.expired(TooSlow())) }
/// defer { timer.cancel() }
/// return try await next(request, context: inner)
/// ```
public final class Context: Sendable {
    let call: CallState
    let observers: ObserverList?
    let mark = CancelMark()
    private let parent: Context?
    let beginsAttempt: Bool
    let place: CallPlace
    let isLimit: Bool
    // SAFETY: the creator sets this property once, before other code gets the context.
    nonisolated(unsafe) var limit: ContextLimit?
    // SAFETY: this property is set once, and used only by tasks that get the context later.
    nonisolated(unsafe) var timer: (any TimerToken)?
    private let hasScope: Bool
    private let values = ContextValues()

    /// The number of the attempt within the call, starting at 1.
    ///
    /// A call without a retry gate has only attempt 1.
    public let attempt: Int

    /// The earliest deadline of the call, or nil.
    public let deadline: MonotonicInstant?

    /// Whether an outer time limit ends at the response head.
    let isLimitedToHead: Bool

    /// The longest idle time of a body that an inner retry gate buffers; nil for no limit.
    let idleBound: IdleBound?

    /// The rule of this context's gate for a second send after a lost connection.
    let resendRule: ResendRule?

    /// The number of content bytes that are read before the caller gets a value: 0 for a stream,
    /// `Int.max` for the whole content (``ResponseSerializer/collectedBytes(in:)``).
    public var collectedBytes: Int { call.collectedBytes }

    /// Creates a context without a client, for tests of gates and transports.
    public convenience init(
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.init(
            call: CallState(
                id: CallID(client: 0, number: 0),
                environment: CallEnvironment(timeSource: timeSource, randomSource: randomSource)))
    }

    convenience init(call: CallState, observers: ObserverList? = nil) {
        self.init(call: call, observers: observers, place: .call)
    }

    private init(
        call: CallState, observers: ObserverList?, place: CallPlace,
        resendRule: ResendRule? = nil
    ) {
        self.resendRule = resendRule
        self.call = call
        self.observers = observers
        self.place = place
        parent = nil
        hasScope = true
        isLimit = false
        beginsAttempt = false
        attempt = 1
        deadline = nil
        isLimitedToHead = false
        idleBound = nil
    }

    private init(
        parent: Context, freshAttempt: Int? = nil, deadline: MonotonicInstant?,
        isLimitedToHead: Bool = false, idleBound: IdleBound? = nil, resendRule: ResendRule? = nil,
        isLimit: Bool = false, observers: ObserverList?
    ) {
        self.isLimit = isLimit
        self.resendRule = resendRule
        call = parent.call
        hasScope = true
        place = parent.place
        self.parent = parent
        attempt = freshAttempt ?? parent.attempt
        beginsAttempt = freshAttempt != nil
        self.deadline = deadline
        self.isLimitedToHead = isLimitedToHead || parent.isLimitedToHead
        self.idleBound = idleBound ?? parent.idleBound
        self.observers = observers
    }

    private init(_ parent: Context, place: CallPlace) {
        isLimit = false
        resendRule = nil
        call = parent.call
        hasScope = false
        self.place = place
        self.parent = parent
        attempt = parent.attempt
        beginsAttempt = false
        deadline = parent.deadline
        isLimitedToHead = parent.isLimitedToHead
        idleBound = parent.idleBound
        observers = parent.observers
    }

    deinit { if mark.isAwaited { call.record.cancelTree.removeAll(in: self) } }

    var outer: Context? { parent }

    func isInside(_ outer: Context) -> Bool { parent === outer }

    // MARK: Identity, time and chance

    /// The identifier of the call, which all attempts share.
    public var id: CallID { call.id }

    /// The number of the part of the call to which this context belongs
    /// (``CallStep/entered(_:in:)``).
    ///
    /// The number is 0 for the whole call, and for every context of a call without readers.
    public var part: Int { Int(place.part) }

    /// The clocks and timers of the call.
    public var timeSource: any TimeSource { call.environment.timeSource }

    /// The random generator of the call.
    ///
    /// With a seeded source, the sequence depends only on the number of the call.
    public var random: CallRandom { call.random }

    /// The number of requests that this call has passed to the transport.
    public var sendCount: Int { call.record.sends }

    /// The origin of the client's base URL, to which gates send credentials by default; nil without
    /// a base URL.
    public var baseOrigin: Origin? { call.environment.baseOrigin }

    /// The redirects that the call has followed.
    public var hops: [Hop] { call.record.hops }

    /// The outcomes of the last 32 attempts of the call; empty if the call was not retried.
    public var history: [AttemptSummary] { call.record.history }

    /// Whether a retrier has ended the call (``RetryDecision/fail(_:)``); if true, no gate may send
    /// the call again, even for a redirect or with a new credential.
    public var retriesForbidden: Bool { call.record.retriesForbidden }

    /// The time until the deadline, or nil without a deadline.
    public var timeLeft: Duration? {
        deadline.map { max(timeSource.now.duration(to: $0), .zero) }
    }

    // MARK: Values

    /// The value of a key, which is stored as long as the ``ContextKey/scope`` of the key requires.
    public subscript<Key: ContextKey>(key: Key.Type) -> Key.Value {
        get {
            guard let value = find(ObjectIdentifier(key), in: Key.scope) else {
                return Key.defaultValue
            }
            return Self.cast(value, for: key)
        }
        set { withValues(of: Key.scope) { $0[ObjectIdentifier(key)] = newValue } }
    }

    /// Returns the value of a key, after setting a new value if the key has no value.
    ///
    /// Parallel attempts, such as hedges, get the same value.
    /// - Parameters:
    ///   - key: The key.
    ///   - make: Creates a value. If another task has set a value first, the new value is
    ///     discarded.
    /// - Returns: The stored value.
    public func value<Key: ContextKey, Value: Sendable>(
        of key: Key.Type, orSetting make: () -> Value
    ) -> Value where Key.Value == Value? {
        let id = ObjectIdentifier(key)
        if let present = find(id, in: Key.scope) as? Value { return present }
        let fresh = make()
        return withValues(of: Key.scope) { $0.value(under: id, orSetting: fresh) }
    }

    // The function is never inlined, because a cast costs time even without a value.
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

    /// Creates a context for the inner gates, which can be cancelled separately.
    /// - Parameter deadline: The deadline of the inner gates; an earlier current deadline still
    ///   applies.
    /// - Returns: A context of the same attempt, which is cancelled when this context is cancelled.
    public func child(deadline: MonotonicInstant? = nil) -> Context {
        let strictest =
            if let deadline, let outer = self.deadline { min(deadline, outer) } else {
                deadline ?? self.deadline
            }
        return Context(parent: self, deadline: strictest, isLimit: true, observers: observers)
    }

    func childUpToHead() -> Context {
        Context(
            parent: self, deadline: deadline, isLimitedToHead: true, isLimit: true,
            observers: observers)
    }

    func child(idleBound: IdleBound) -> Context {
        Context(parent: self, deadline: deadline, idleBound: idleBound, observers: observers)
    }

    /// Creates a context of the same call that outer cancellations and deadlines do not affect.
    ///
    /// Use this context for work that outlives the caller, such as an exchange that several calls
    /// share. The creator must cancel the context; without a cancellation, the context ends with
    /// the client. The loggers outside this context receive the events of the new context.
    public func detached() -> Context {
        Context(
            call: call, observers: observers, place: place, resendRule: .several(resendRules))
    }

    func within(_ place: CallPlace) -> Context { Context(self, place: place) }

    /// Creates the context of a separate call, which ends only with the client.
    ///
    /// Use this context for an exchange that a gate makes on behalf of many calls. Both calls share
    /// the clocks and the identifier. The new call has its own values, sends and time limits. While
    /// this call waits for the new call (``report(waitingFor:atDeadline:saying:by:gauges:_:)``),
    /// the readers of this call also read the new call.
    /// - Parameter isOneTime: Whether even the end of the client does not cancel the new call,
    ///   because the exchange cannot be repeated (such as a use of a refresh token). The creator
    ///   must end a one-time call.
    /// - Returns: The context.
    public func sideCall(isOneTime: Bool = false) -> Context {
        let stream = place.kind == .wait ? call.stream : nil
        return Context(
            call: CallState(
                id: id, environment: call.environment, number: random.next(),
                parent: isOneTime ? nil : call.parent, stream: stream),
            observers: nil, place: place)
    }

    func child(resendRule: ResendRule) -> Context {
        Context(parent: self, deadline: deadline, resendRule: resendRule, observers: observers)
    }

    func furtherAttempt() -> Context { freshAttempt(call.record.nextAttempt(after: attempt)) }

    func freshAttempt(_ number: Int, _ resendRule: ResendRule? = nil) -> Context {
        Context(
            parent: self, freshAttempt: number, deadline: deadline, resendRule: resendRule,
            observers: observers)
    }

    func observed(by logger: any RequestLogger, since began: MonotonicInstant) -> Context {
        Context(
            parent: self, deadline: deadline,
            observers: ObserverList(logger: logger, began: began, rest: observers))
    }

    // MARK: Cancellation

    /// The context that takes cancellations for this context: this context, or the outer context if
    /// both contexts differ only in the place.
    var scope: Context {
        var context = self
        while !context.hasScope, let outer = context.parent { context = outer }
        return context
    }

    /// The reason why this context or an outer context was cancelled, or nil.
    public var cancelReason: CancelReason? { call.record.cancelTree.reason(of: self) }

    /// Cancels the sends, waits and bodies in this context; only the first reason counts.
    public func cancel(_ reason: CancelReason) { call.record.cancelTree.cancel(scope, reason) }

    /// Calls a handler when this context or an outer context is cancelled.
    ///
    /// If this context or an outer context is already cancelled, the handler is called at once. The
    /// handler runs on the thread that cancels, and must return quickly.
    /// - Returns: A registration. Call ``CancelRegistration/end()`` when the handler is no longer
    ///   needed.
    public func onCancel(
        _ handler: @escaping @Sendable (CancelReason) -> Void
    ) -> CancelRegistration {
        let place = call.record.cancelTree.add(scope, handler)
        if place == nil, let reason = cancelReason { handler(reason) }
        return CancelRegistration(context: self, place: place)
    }

    /// Throws `CancellationError` if the task was cancelled, and the error of ``cancelReason`` if
    /// this context was cancelled.
    public func checkCancellation() throws {
        try Task.checkCancellation()
        if let cancelReason { throw cancelReason.error }
    }
}

extension Context {
    var reason: CancelReason? {
        var context = self
        while true {
            if let reason = context.mark.reason { return reason }
            guard let outer = context.parent ?? context.call.parent else { return nil }
            context = outer
        }
    }

    func isInside(scope other: Context) -> Bool {
        var context = self
        while context !== other {
            guard let outer = context.parent ?? context.call.parent else { return false }
            context = outer
        }
        return true
    }
}
