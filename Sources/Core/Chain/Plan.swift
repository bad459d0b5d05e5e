// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A stack as an immutable array of nodes, through which calls run without an allocation.
///
/// An interceptor becomes one node, and its other roles are ignored. A gate with several roles
/// becomes one node for each role, outermost first: metrics, log, retry, validate, adapt. A group
/// becomes a node that can skip the following nodes, which are the nodes of its gates. Only this
/// type decides how gates become nodes.
@usableFromInline final class Plan: Sendable {
    enum Node: Sendable {
        case group(Kept<any GateGroup>, count: Int)
        case interceptor(Kept<any Interceptor>)
        case phased(any PhasedGate)
        case metrics(Kept<any MetricsRecorder>)
        case log(Kept<any RequestLogger>)
        case retry(Kept<any RequestRetrier>)
        case validate(Kept<any ResponseValidator>)
        case adapt(Kept<any RequestAdapter>)
        case adaptNow(Kept<any SynchronousRequestAdapter>)
        case idle(Kept<any Gate>)
    }

    let gates: [any Gate]
    let transport: any Transport
    let handledOptions: Set<ObjectIdentifier>
    let nodes: [Node]
    // One entry for each node, and one entry for the transport at the end.
    private let promptEnds: [Bool]
    // The position of the innermost retry gate, or -1 without a retry gate.
    private let innermostRetry: Int
    // The last position that may prove the identity of the client, or -1; `Int.min` before the
    // first use.
    private let lastProof = Atomic(Int.min)
    // The names of the gates by position, or nil before the first use.
    private let gateNames = Mutex<[String]?>(nil)
    let fault: ClientError?

    /// The maximum number of sends of one call, without redirect hops.
    static let sendLimit = 12

    let generation: Int

    init(gates: [any Gate], transport: any Transport, generation: Int = 0) {
        self.generation = generation
        self.gates = gates
        self.transport = transport
        handledOptions = Set(gates.lazy.flatMap(\.handledOptions).map { ObjectIdentifier($0) })
        nodes = gates.flatMap(Self.lower)
        promptEnds = Self.promptEnds(nodes, transport)
        innermostRetry = nodes.lastIndex { if case .retry = $0 { true } else { false } } ?? -1
        fault =
            nodes.lazy.compactMap(\.fault).first
            ?? Self.unmetNeed(of: gates, transport.capabilities)
    }

    static func unmetNeed(
        of gates: [any Gate], _ capabilities: TransportCapabilities
    ) -> ClientError? {
        for gate in gates {
            let fault =
                capabilities.fault(
                    missing: gate.requiredCapabilities, for: "the gate \(gate.gateName)")
                ?? (gate as? any GateGroup).flatMap { unmetNeed(of: $0.gates, capabilities) }
            if let fault { return fault }
        }
        return nil
    }

    func extended(outside: [any Gate], inside: [any Gate]) -> Plan {
        if outside.isEmpty && inside.isEmpty { return self }
        return Plan(
            gates: outside + gates + inside, transport: transport, generation: generation)
    }

    func remaining(for options: RequestOptions) throws -> Plan {
        if options[LeftOutOption.self] == nil { return self }
        return Plan(
            gates: try gates.remaining(for: options), transport: transport, generation: generation)
    }

    private static func lower(_ gate: any Gate) -> [Node] {
        if let group = gate as? any GateGroup {
            let inner = group.gates.flatMap(lower)
            return [.group(Kept(group), count: inner.count)] + inner
        }
        if let gate = gate as? any PhasedInterceptor { return [.phased(gate.kept)] }
        if let gate = gate as? any Interceptor { return [.interceptor(Kept(gate))] }
        var nodes: [Node] = []
        if let gate = gate as? any MetricsRecorder { nodes.append(.metrics(Kept(gate))) }
        if let gate = gate as? any RequestLogger { nodes.append(.log(Kept(gate))) }
        if let gate = gate as? any RequestRetrier { nodes.append(.retry(Kept(gate))) }
        if let gate = gate as? any ResponseValidator { nodes.append(.validate(Kept(gate))) }
        if let gate = gate as? any SynchronousRequestAdapter {
            nodes.append(.adaptNow(Kept(gate)))
        } else if let gate = gate as? any RequestAdapter {
            nodes.append(.adapt(Kept(gate)))
        }
        return nodes.isEmpty ? [.idle(Kept(gate))] : nodes
    }

    private static func promptEnds(_ nodes: [Node], _ transport: any Transport) -> [Bool] {
        var ends = [(transport as? any PromptlyCancellable)?.promptness == .always]
        for node in nodes.reversed() {
            switch node.promptness {
            case .unknown: ends.append(false)
            // A request may skip the gates of a group.
            case .withInside:
                ends.append(ends[ends.count - 1] && ends[ends.count - 1 - node.passable])
            case .always: ends.append(true)
            }
        }
        return ends.reversed()
    }

    func retries(from position: Int) -> Bool { position <= innermostRetry }

    func endsPromptly(from position: Int) -> Bool { promptEnds[position] }

    func provesClient(from position: Int) -> Bool {
        var last = lastProof.load(ordering: .relaxed)
        if last == .min {
            last =
                transport.provesClient
                ? nodes.count : nodes.lastIndex { $0.mayProveClient } ?? -1
            lastProof.store(last, ordering: .relaxed)
        }
        return position <= last
    }

    @usableFromInline func interceptor(
        at position: Int, in context: Context
    ) -> Kept<any Interceptor>? {
        guard position < nodes.count, case .interceptor(let gate) = nodes[position],
            !context.isRead
        else { return nil }
        return gate
    }

    /// Runs the chain from a position to the transport.
    /// - Parameter isEntered: Whether the readers already know that the gate has begun.
    // The function is never inlined, because the optimizer of Swift 6.3 fails at an inlined copy.
    @usableFromInline @inline(never)
    func run(
        _ request: Request, from start: Int, in context: Context, isEntered: Bool = false
    ) async throws -> Response {
        let tells = !isEntered && context.isRead
        if tells, context.beginsAttempt {
            return try await runAttempt(request, from: start, in: context)
        }
        var position = start
        var request = request
        while position < nodes.count {
            switch nodes[position] {
            case .group, .adaptNow, .idle:
                try pass(&position, &request, in: context, tells)
            case .adapt(let adapter):
                request = try await adapted(request, by: adapter, at: position, in: context, tells)
                position += 1
            case .interceptor(let gate) where !tells:
                let next = Next(plan: self, position: position + 1, context: context)
                return try await gate.value.intercept(request, context: context, next: next)
            default:
                // A wrapping gate calls this function twice: `enter` reports to the readers and
                // calls `run` again.
                return tells
                    ? try await enter(request, at: position, in: context)
                    : try await wrap(request, from: position, in: context)
            }
        }
        return try await send(request, in: context)
    }

    // The next two functions are never inlined, which keeps the frame of a suspended call small.

    @inline(never)
    private func pass(
        _ position: inout Int, _ request: inout Request, in context: Context, _ tells: Bool
    ) throws {
        let node = nodes[position]
        if case .group(let group, let count) = node,
            !group.value.applies(to: request, context: context)
        {
            position += count
        }
        if case .adaptNow(let adapter) = node {
            let inner = tells ? context.entering(.gate(pass(at: position))) : nil
            do {
                try adapt(adapter.value, &request, inner ?? context)
                inner?.left(.success(nil))
            } catch {
                inner?.left(.failure(error))
                throw error
            }
        }
        position += 1
    }

    @inline(never)
    private func adapted(
        _ request: Request, by adapter: Kept<any RequestAdapter>, at position: Int,
        in context: Context, _ tells: Bool
    ) async throws -> Request {
        var request = request
        let inner = tells ? context.entering(.gate(pass(at: position))) : nil
        do {
            try await adapter.value.adapt(&request, context: inner ?? context)
            inner?.left(.success(nil))
            return request
        } catch {
            inner?.left(.failure(error))
            throw error
        }
    }

    /// The function is inlined, because a frame may cost an allocation.
    @inline(__always)
    private func wrap(
        _ request: Request, from position: Int, in context: Context
    ) async throws -> Response {
        var pass = PhasedPass(self, request, from: position, in: context)
        var result: Result<Response, any Error>
        do {
            try pass.enter()
            let (inside, inner) = (pass.position, pass.context)
            if pass.needsTask {
                result = .success(try await runInTask(request, from: inside, in: inner))
            } else if inside == nodes.count {
                result = .success(try await send(request, in: inner))
            } else if case .retry(let retrier) = nodes[inside], inside == position || !inner.isRead
            {
                result = .success(try await retry(retrier, request, from: inside + 1, in: inner))
            } else if case .interceptor(let gate) = nodes[inside],
                inside == position || !inner.isRead
            {
                let next = Next(plan: self, position: inside + 1, context: inner)
                result = .success(
                    try await gate.value.intercept(request, context: inner, next: next))
            } else if case .metrics(let recorder) = nodes[inside], inside == position {
                return try await measure(recorder.value, request, from: inside + 1, in: inner)
            } else {
                result = .success(try await run(request, from: inside, in: inner))
            }
        } catch {
            result = .failure(error)
        }
        while !pass.leave(&result) {
            do {
                result = .success(try await pass.resume(result))
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    private func runAttempt(
        _ request: Request, from start: Int, in context: Context
    ) async throws -> Response {
        try await context.passing(.attempt(context.attempt)) { context in
            try await run(request, from: start, in: context)
        }
    }

    private func enter(
        _ request: Request, at position: Int, in context: Context
    ) async throws -> Response {
        try await context.passing(.gate(pass(at: position))) { context in
            try await run(request, from: position, in: context, isEntered: true)
        }
    }

    func runInTask(
        _ request: Request, from position: Int, in context: Context
    ) async throws -> Response {
        try await context.running {
            try await self.run(request, from: position, in: context)
        } orAbandoning: {
            $0.body.cancel(.drop)
        }
    }

    private func pass(at position: Int) -> GatePass { GatePass(plan: self, position: position) }

    func gateName(at position: Int) -> String {
        gateNames.withLock { kept in
            let names = kept ?? nodes.map(\.gate.gateName)
            kept = names
            return names[position]
        }
    }

    // An asynchronous function would call the asynchronous `adapt`.
    func adapt(
        _ adapter: any SynchronousRequestAdapter, _ request: inout Request, _ context: Context
    ) throws {
        try adapter.adapt(&request, context: context)
    }
}

extension Plan.Node {
    fileprivate var fault: ClientError? {
        guard case .idle = self else { return nil }
        return ClientError(
            .configuration,
            "the gate \(gate.gateName) has no role and would do nothing; conform it to"
                + " Interceptor, RequestAdapter, RequestRetrier, ResponseValidator,"
                + " RequestLogger or MetricsRecorder")
    }

    fileprivate var gate: any Gate {
        switch self {
        case .group(let gate, _): gate.value
        case .interceptor(let gate): gate.value
        case .phased(let gate): gate.gate
        case .metrics(let gate): gate.value
        case .log(let gate): gate.value
        case .retry(let gate): gate.value
        case .validate(let gate): gate.value
        case .adapt(let gate): gate.value
        case .adaptNow(let gate): gate.value
        case .idle(let gate): gate.value
        }
    }

    fileprivate var mayProveClient: Bool {
        switch self {
        case .group, .metrics, .log, .retry, .validate, .idle: return false
        case .interceptor, .phased, .adapt, .adaptNow: break
        }
        guard let facts = gate.facts(for: nil) else { return true }
        return !facts.kinds.isDisjoint(with: [.authentication, .cookies])
    }

    fileprivate var passable: Int { if case .group(_, let count) = self { count } else { 0 } }

    /// How the node reacts to a cancellation; a synchronous node does not wait for anything.
    fileprivate var promptness: Promptness {
        switch self {
        case .group, .metrics, .log, .adaptNow, .idle: .withInside
        case .interceptor: Self.promptness(of: gate)
        case .phased: Self.promptness(of: gate)
        case .retry: Self.promptness(of: gate)
        case .validate: Self.promptness(of: gate)
        case .adapt: Self.promptness(of: gate)
        }
    }

    private static func promptness(of gate: any Gate) -> Promptness {
        (gate as? any PromptlyCancellable)?.promptness ?? .unknown
    }
}

/// A reference to a gate, which costs less than a copy of the gate.
@usableFromInline final class Kept<Gate: Sendable>: Sendable {
    @usableFromInline let value: Gate

    init(_ value: Gate) { self.value = value }
}

protocol PhasedGate: AnyObject, Sendable {
    var gate: any PhasedInterceptor { get }
    func before(_ request: Request, _ context: Context, _ next: Next) throws -> Context
    func after(_ response: Response, _ request: Request, _ context: Context) throws -> Bool
}

extension Kept: PhasedGate where Gate: PhasedInterceptor {
    var gate: any PhasedInterceptor { value }

    func before(_ request: Request, _ context: Context, _ next: Next) throws -> Context {
        try value.before(request, context: context, next: next)
    }

    func after(_ response: Response, _ request: Request, _ context: Context) throws -> Bool {
        try value.after(response, to: request, context: context)
    }
}

extension PhasedInterceptor {
    fileprivate var kept: any PhasedGate { Kept(self) }
}
