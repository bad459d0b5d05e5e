import Foundation
import Synchronization

/// Sends requests through a stack of gates to a transport.
///
/// ```swift
/// let client = Client(baseURL: "https://api.example.com/v1/")
/// let user = try await client.get("users/1").decode(User.self)
/// ```
///
/// A client is made once and shared: it owns its connections, its gates' state and its serializers.
/// Nothing of it is global. Letting go of it closes its idle connections; ``shutdown(grace:)`` also
/// waits for its calls.
public final class Client: Sendable {
    private struct State {
        var plan: Plan
        // Its cancellation ends all calls that were begun under it.
        var generation: Context
        var nextNumber: UInt64 = 0
        var isShutDown = false
    }

    /// What relative targets are resolved against.
    public let baseURL: Target?
    /// The serializers of the terminals.
    public let serializers: SerializerTable

    private let base: (url: URL?, fault: String?)
    private let tag: UInt32
    private let environment: CallEnvironment
    private let state: Mutex<State>

    /// Creates a client of explicit parts.
    /// - Parameters:
    ///   - baseURL: What relative targets are resolved against; nil lets calls use absolute URLs
    ///     alone.
    ///   - transport: What carries the requests.
    ///   - stack: The gates, outermost first.
    ///   - serializers: The serializers of the terminals.
    ///   - timeSource: Where all time in calls comes from.
    ///   - randomSource: Where all chance in calls comes from.
    public init(
        baseURL: Target? = nil, transport: any Transport, stack: Stack,
        serializers: SerializerTable, timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) {
        self.baseURL = baseURL
        self.serializers = serializers
        let resolved = baseURL?.resolved(against: nil)
        base = (resolved?.url, resolved?.fault.map { "the client's base URL: " + $0 })
        environment = CallEnvironment(
            timeSource: timeSource, randomSource: randomSource,
            baseOrigin: base.url.flatMap { Origin($0) })
        // From the client's chance, so that with a seed the calls' names repeat too.
        var generator = randomSource.generator(forCall: .max)
        tag = UInt32(truncatingIfNeeded: generator.next())
        state = Mutex(
            State(
                plan: Plan(gates: stack.gates, transport: transport),
                generation: Self.generation(timeSource, randomSource)))
    }

    /// The stack as it is in force.
    public var stack: Stack { Stack(state.withLock { $0.plan }.gates) }

    /// The transport as it is in force.
    public var transport: any Transport { state.withLock { $0.plan }.transport }

    /// Puts another stack in force, and another transport if one is given.
    ///
    /// Calls that are under way keep theirs; later ones pass the new one. A transport that is
    /// replaced closes once its last call has ended.
    public func replace(stack: Stack, transport: (any Transport)? = nil) {
        let old = state.withLock { state in
            let old = state.plan
            state.plan = Plan(gates: stack.gates, transport: transport ?? old.transport)
            return old
        }
        // What ends with the old plan ends outside the lock.
        withExtendedLifetime(old) {}
    }

    /// The clocks and timers of the client.
    public var timeSource: any TimeSource { environment.timeSource }

    // MARK: Calls

    /// Describes a call; nothing is sent before one of its terminals is awaited.
    public func request(_ request: Request) -> Call { Call(client: self, request: request) }

    /// Describes a call.
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The URL, or text that is resolved against ``baseURL``.
    ///   - query: Items behind those of the target.
    ///   - headers: Header fields.
    ///   - body: The content.
    /// - Returns: A call; what is wrong with its parts fails it before anything is sent.
    public func request(
        _ method: HTTPMethod, _ target: Target, query: Query = [:], headers: HTTPHeaders = [:],
        body: Body = .empty
    ) -> Call {
        let target = query.items.isEmpty ? target : target.appending(query)
        let request = Request(method, target, relativeTo: base.url, headers: headers, body: body)
        return Call(client: self, request: request)
    }

    func begin(
        _ request: Request, collecting collectedBytes: Int = 0
    ) throws -> (plan: Plan, context: Context) {
        if let fault = base.fault { throw ClientError(.invalidRequest, fault) }
        let (plan, generation, number, isShutDown) = state.withLock { state in
            state.nextNumber += 1
            return (state.plan, state.generation, state.nextNumber, state.isShutDown)
        }
        if isShutDown {
            throw ClientError(.cancelled, "the client was shut down; make a new one")
        }
        let call = CallState(
            id: CallID(client: tag, number: number), environment: environment, number: number - 1,
            parent: request.options.isOneTime ? nil : generation, collectedBytes: collectedBytes)
        call.record.begin(request, at: environment.timeSource.now)
        return (plan, Context(call: call))
    }

    // MARK: Life cycle

    /// How many calls are under way: begun, and with a task, a response or a body that is still
    /// there.
    ///
    /// ``runningCalls`` tells which they are, ``CallMonitor`` what they do.
    public var runningCallCount: Int { environment.running.count }

    /// The calls that are under way, the oldest first: what ``runningCallCount`` counts.
    ///
    /// A download that waits to be taken up again, and a stream of events that waits to be asked
    /// for again, are among them.
    public var runningCalls: [CallSummary] {
        environment.running.summaries(at: environment.timeSource.now)
    }

    /// Cancels all calls that are under way, and their waits; later ones are not affected.
    public func cancelAll() {
        let ended = state.withLock { state in
            defer {
                state.generation = Self.generation(environment.timeSource, environment.randomSource)
            }
            return state.generation
        }
        ended.cancel(.handle)
    }

    /// Refuses new calls, waits for those that are under way, and closes gates and transport.
    ///
    /// Calls that outlast the grace are cancelled, and their ends waited for, so that gates hear of
    /// them before they are closed; what someone holds on to, a response that is not read for
    /// instance, is waited for no longer than a second. Cancelling the task ends the grace and
    /// nothing else: all is closed when this returns.
    /// - Parameter grace: How long calls may still take.
    public func shutdown(grace: Duration = .zero) async {
        let (generation, plan) = state.withLock { state in
            state.isShutDown = true
            return (state.generation, state.plan)
        }
        await waitUntilIdle(for: grace, isCancellable: true)
        generation.cancel(.handle)
        // What was cancelled ends soon; what someone holds on to is not waited for.
        await waitUntilIdle(for: .seconds(1), isCancellable: false)
        for gate in plan.gates { await gate.shutdown() }
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

extension Client {
    /// Creates a client whose stack is built from types.
    public convenience init(
        baseURL: Target? = nil, transport: any Transport, serializers: SerializerTable,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource(),
        @StackBuilder stack: () -> [any Gate]
    ) {
        self.init(
            baseURL: baseURL, transport: transport, stack: Stack(stack()), serializers: serializers,
            timeSource: timeSource, randomSource: randomSource)
    }
}

extension Client: CustomReflectable {
    /// What a dump shows: the base URL without secrets, and the gates' names.
    public var customMirror: Mirror {
        Mirror(self, children: ["baseURL": baseURL as Any, "stack": stack.description])
    }
}
