// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

/// Sends requests through a stack of gates to a transport.
///
/// ```swift
/// let client = Client(baseURL: "https://api.example.com/v1/")
/// let user = try await client.get("users/1").decode(User.self)
/// ```
///
/// Create a client once and share it. The client owns its connections, the state of its gates and
/// its serializers. No part of a client is global. If the client is released, the idle connections
/// are closed. ``shutdown(grace:cancellingWith:)`` also waits for the calls of the client.
public final class Client: Sendable {
    private struct State {
        var plan: Plan
        var onShutdown: (@Sendable () async -> Void)?
        // A cancellation of this context cancels all calls that were started in the context.
        var generation: Context
        var nextNumber: UInt64 = 0
        var isShutDown = false
    }

    /// The URL against which relative targets are resolved.
    public let baseURL: Target?
    /// The serializers for response values.
    let serializers: SerializerTable
    private let reader: (any CallReader)?

    private let base: TargetURI?
    private let tag: UInt32
    private let environment: CallEnvironment
    private let state: Mutex<State>

    /// Creates a client from all parts.
    /// - Parameters:
    ///   - baseURL: The URL for relative targets. If nil, calls need absolute URLs.
    ///   - transport: Sends the requests.
    ///   - stack: The gates, outermost first.
    ///   - serializers: The serializers for response values.
    ///   - trace: The reader of all calls, for example a `TraceStore` of `TurnpikeInspection`.
    ///   - timeSource: The source of all times in calls.
    ///   - randomSource: The source of all randomness in calls.
    public init(
        baseURL: Target? = nil, transport: any Transport, stack: Stack,
        serializers: SerializerTable, trace: (any CallReader)? = nil,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.baseURL = baseURL
        self.serializers = serializers
        reader = trace
        base = baseURL?.resolved(against: nil)
        environment = CallEnvironment(
            timeSource: timeSource, randomSource: randomSource,
            baseOrigin: base?.origin)
        // Clients with the same seed have the same call identifiers, because the identifier comes
        // from the random source.
        var generator = randomSource.generator(forCall: .max)
        tag = UInt32(truncatingIfNeeded: generator.next())
        stack.placeGates()
        state = Mutex(
            State(
                plan: Plan(gates: stack.gates, transport: transport),
                generation: Self.generation(timeSource, randomSource)))
    }

    /// The current stack.
    public var stack: Stack { Stack(state.withLock { $0.plan }.gates) }

    /// The current transport.
    public var transport: any Transport { state.withLock { $0.plan }.transport }

    /// The error with which every call fails, or nil.
    ///
    /// The cause is an invalid base URL, a gate without a role in the chain, or a transport without
    /// a capability that a gate needs. Calls fail before any gate runs.
    public var fault: ClientError? { baseFault ?? state.withLock { $0.plan }.fault }

    private var baseFault: ClientError? {
        base?.fault.map { ClientError(.invalidRequest, "the client's base URL: " + $0) }
    }

    /// Replaces the stack, and the transport if `transport` is not nil.
    ///
    /// Running calls keep their stack and transport; later calls use the new stack and transport. A
    /// replaced transport closes after its last call.
    /// - Parameters:
    ///   - stack: The new stack.
    ///   - transport: The new transport; if nil, the transport does not change.
    ///   - onShutdown: Ends the shared state of the gates in ``shutdown(grace:cancellingWith:)``,
    ///     after the gates have shut down. If nil, the closure does not change.
    public func replace(
        stack: Stack, transport: (any Transport)? = nil,
        onShutdown: (@Sendable () async -> Void)? = nil
    ) {
        stack.placeGates()
        let old = state.withLock { state in
            let old = (state.plan, state.onShutdown)
            state.plan = Plan(
                gates: stack.gates, transport: transport ?? state.plan.transport,
                generation: state.plan.generation + 1)
            state.onShutdown = onShutdown ?? state.onShutdown
            return old
        }
        // The old plan is destroyed outside the lock.
        withExtendedLifetime(old) {}
    }

    /// The clocks and timers of the client.
    public var timeSource: any TimeSource { environment.timeSource }

    // MARK: Calls

    /// Describes a call without sending anything.
    public func request(_ request: Request) -> Call { Call(client: self, request: request) }

    /// Describes a call.
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The URL, or a text that is resolved against ``baseURL``.
    ///   - query: Items to append to the query of the target.
    ///   - headers: Header fields.
    ///   - body: The content.
    /// - Returns: The call. If a part is invalid, the call fails before anything is sent.
    public func request(
        _ method: HTTPMethod, _ target: some TargetConvertible, query: Query = [:],
        headers: HTTPHeaders = [:], body: RequestBody = .empty
    ) -> Call {
        var target = target.asTarget()
        if !query.items.isEmpty { target = target.appending(query) }
        let request = Request(method, target, relativeTo: base, headers: headers, body: body)
        return Call(client: self, request: request)
    }

    /// Begins a call, which has no readers if `isRead` is false.
    /// - Throws: The fault of the base URL, or ``ClientError/Code/cancelled`` after a shutdown.
    func begin(
        _ request: Request, _ readers: [any CallReader] = [], collecting collectedBytes: Int = 0,
        isRead: Bool = true
    ) throws -> (plan: Plan, context: Context) {
        if let baseFault { throw baseFault }
        let (plan, generation, number, isShutDown) = state.withLock { state in
            state.nextNumber += 1
            return (state.plan, state.generation, state.nextNumber, state.isShutDown)
        }
        if isShutDown {
            throw ClientError(.cancelled, "the client was shut down and begins no more calls")
        }
        let now = environment.timeSource.now
        let mayRead = isRead && (reader != nil || !readers.isEmpty)
        let call = CallState(
            id: CallID(client: tag, number: number), environment: environment, number: number - 1,
            parent: request.options.isOneTime ? nil : generation, collectedBytes: collectedBytes,
            stream: mayRead ? CallStream(reader, readers) : nil)
        call.record.begin(request, at: now)
        let context = Context(call: call)
        call.stream?.tell(.entered(.call(request), in: -1), in: context)
        return (plan, context)
    }

    /// The limit of sends of a call, without redirects: 12 (``ClientError/Code/sendLimit``).
    public static var sendLimit: Int { Plan.sendLimit }

    // MARK: Life cycle

    /// The number of calls that still have a task, a response or an open body.
    public var runningCallCount: Int { environment.running.count }

    /// The calls of ``runningCallCount``, oldest first, including waiting downloads and streams.
    public var runningCalls: [CallSummary] {
        environment.running.summaries(at: environment.timeSource.now)
    }

    /// Cancels all running calls and their waits, but not later calls.
    public func cancelAll() {
        let ended = state.withLock { state in
            defer {
                state.generation = Self.generation(environment.timeSource, environment.randomSource)
            }
            return state.generation
        }
        ended.cancel(.handle)
    }

    /// Rejects new calls, waits for running calls, and shuts down the gates and the transport.
    ///
    /// Calls that are still running after the grace period are cancelled with the error. Later
    /// calls fail with ``ClientError/Code/cancelled``. A running call that begins another exchange,
    /// such as a resumed download or a reconnecting event stream, fails with the same code.
    ///
    /// After the cancellation, the client waits at most one second for the cancelled calls, because
    /// the gates may record the end of each call. A response that a caller holds without reading
    /// does not end. The gates shut down one after the other, outermost first, without a
    /// time limit. The shared state of the gates ends last
    /// (``replace(stack:transport:onShutdown:)``). If the task is cancelled, only the grace period
    /// ends early.
    /// - Parameters:
    ///   - grace: How long running calls may continue.
    ///   - error: The error with which the cancelled calls end.
    public func shutdown(
        grace: Duration = .zero, cancellingWith error: any Error = CancellationError()
    ) async {
        let (generation, plan, onShutdown) = state.withLock { state in
            state.isShutDown = true
            return (state.generation, state.plan, state.onShutdown)
        }
        await waitUntilIdle(for: grace, isCancellable: true)
        generation.cancel(CancelReason(.handle, error: error))
        // Cancelled calls end soon, unless a caller still holds a response.
        await waitUntilIdle(for: .seconds(1), isCancellable: false)
        for gate in plan.gates { await gate.shutdown() }
        await onShutdown?()
        await plan.transport.shutdown()
    }

    private func waitUntilIdle(for limit: Duration, isCancellable: Bool) async {
        if limit <= .zero { return }
        let idle = environment.running.whenIdle()
        if idle.isSettled { return }
        let timer = environment.timeSource.schedule(after: limit) { idle.settle(.success(())) }
        defer { timer.cancel() }
        try? await idle.value { if isCancellable { idle.settle(.success(())) } }
    }

    private static func generation(
        _ timeSource: any TimeSource, _ randomSource: any RandomSource
    ) -> Context {
        Context(timeSource: timeSource, randomSource: randomSource)
    }
}

extension Client: DescriptionReflectable {
    /// The base URL without secrets, the transport, and the names of the gates, one per line.
    public var description: String {
        let plan = state.withLock { $0.plan }
        let place = baseURL.map { " for \($0)" } ?? ""
        let gates = plan.gates.isEmpty ? "no gates" : Stack(plan.gates).description
        return "Client\(place) over \(type(of: plan.transport)):\n\(gates)"
    }
}
