// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A stack compiled into an immutable array of nodes, which calls traverse without an allocation.
///
/// Only this type decides how gates are compiled. An interceptor becomes one node, and its other
/// roles are ignored. A gate with several roles becomes a node for each, outermost first: metrics,
/// log, retry, validate, adapt. A group becomes a node that can skip the nodes of its gates,
/// followed by those nodes.
final class Plan: Sendable {
    enum Node: Sendable {
        case group(any GateGroup, count: Int)
        case interceptor(any Interceptor)
        case metrics(any MetricsRecorder)
        case log(any RequestLogger)
        case retry(any RequestRetrier)
        case validate(any ResponseValidator)
        case adapt(any RequestAdapter)
        case adaptNow(any SynchronousRequestAdapter)
        case idle(any Gate)
    }

    let gates: [any Gate]
    let transport: any Transport
    let handledOptions: Set<ObjectIdentifier>
    let nodes: [Node]
    // One entry for each node, and one for the transport at the end.
    private let promptEnds: [Bool]
    // -1 if there is none.
    private let innermostRetry: Int
    // The last position where the client may be proved, the transport's included; unknown until asked.
    private let lastProof = Atomic(Int.min)
    // The names of the gates by position, once a reader has asked for them.
    private let gateNames = Mutex<[String]?>(nil)
    /// The fault of the stack that makes every call fail, or nil.
    let fault: ClientError?

    /// How many times one call may be passed to the transport, not counting redirect hops.
    static let sendLimit = 12

    /// How often the client's stack or transport had been replaced before.
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

    /// The capability that gates need and the transport lacks, or nil.
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

    /// Returns the plan for one call with additional gates: some outermost, some nearest the
    /// transport.
    func extended(outside: [any Gate], inside: [any Gate]) -> Plan {
        if outside.isEmpty && inside.isEmpty { return self }
        return Plan(
            gates: outside + gates + inside, transport: transport, generation: generation)
    }

    /// Returns the plan without the gates that a call leaves out (``LeftOutOption``).
    func remaining(for options: RequestOptions) throws -> Plan {
        if options[LeftOutOption.self] == nil { return self }
        return Plan(
            gates: try gates.remaining(for: options), transport: transport, generation: generation)
    }

    private static func lower(_ gate: any Gate) -> [Node] {
        if let group = gate as? any GateGroup {
            let inner = group.gates.flatMap(lower)
            return [.group(group, count: inner.count)] + inner
        }
        if let gate = gate as? any Interceptor { return [.interceptor(gate)] }
        var nodes: [Node] = []
        if let gate = gate as? any MetricsRecorder { nodes.append(.metrics(gate)) }
        if let gate = gate as? any RequestLogger { nodes.append(.log(gate)) }
        if let gate = gate as? any RequestRetrier { nodes.append(.retry(gate)) }
        if let gate = gate as? any ResponseValidator { nodes.append(.validate(gate)) }
        if let gate = gate as? any SynchronousRequestAdapter {
            nodes.append(.adaptNow(gate))
        } else if let gate = gate as? any RequestAdapter {
            nodes.append(.adapt(gate))
        }
        return nodes.isEmpty ? [.idle(gate)] : nodes
    }

    private static func promptEnds(_ nodes: [Node], _ transport: any Transport) -> [Bool] {
        var ends = [(transport as? any PromptlyCancellable)?.promptness == .always]
        for node in nodes.reversed() {
            switch node.promptness {
            case .unknown: ends.append(false)
            // The gates of a group may be skipped.
            case .withInside:
                ends.append(ends[ends.count - 1] && ends[ends.count - 1 - node.passable])
            case .always: ends.append(true)
            }
        }
        return ends.reversed()
    }

    /// Whether a retry at or after a position may repeat the nodes after it.
    func retries(from position: Int) -> Bool { position <= innermostRetry }

    /// Whether everything from a position on ends soon after its context and task are cancelled.
    func endsPromptly(from position: Int) -> Bool { promptEnds[position] }

    /// Whether a gate or the transport, from a position on, may prove who the client is.
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

    /// Runs the chain from a position on.
    /// - Parameters:
    ///   - request: The request.
    ///   - start: The position.
    ///   - context: The context.
    ///   - isEntered: Whether the readers of the call know of the pass through the gate at the position.
    /// - Returns: The response.
    /// - Throws: The error of a gate or of the transport.
    func run(
        _ request: Request, from start: Int, in context: Context, isEntered: Bool = false
    ) async throws -> Response {
        let tells = !isEntered && context.isRead
        if tells, context.beginsAttempt {
            return try await context.passing(.attempt(context.attempt)) { context in
                try await run(request, from: start, in: context)
            }
        }
        var position = start
        var request = request
        while position < nodes.count {
            let node = nodes[position]
            // What wraps the rest of the chain comes back here once its pass has begun.
            if tells, node.wraps {
                return try await context.passing(.gate(pass(at: position))) {
                    [request, position] context in
                    try await run(request, from: position, in: context, isEntered: true)
                }
            }
            switch node {
            case .group(let group, let count):
                position += group.applies(to: request, context: context) ? 1 : 1 + count
            case .adaptNow(let adapter):
                let inner = tells ? context.entering(.gate(pass(at: position))) : nil
                do {
                    try adapt(adapter, &request, inner ?? context)
                    inner?.left(.success(nil))
                } catch {
                    inner?.left(.failure(error))
                    throw error
                }
                position += 1
            case .adapt(let adapter):
                let inner = tells ? context.entering(.gate(pass(at: position))) : nil
                do {
                    try await adapter.adapt(&request, context: inner ?? context)
                    inner?.left(.success(nil))
                } catch {
                    inner?.left(.failure(error))
                    throw error
                }
                position += 1
            case .interceptor(let interceptor):
                return try await interceptor.intercept(
                    request, context: context,
                    next: Next(plan: self, position: position + 1, context: context))
            case .metrics(let recorder):
                return try await measure(recorder, request, from: position + 1, in: context)
            case .log(let logger):
                return try await log(logger, request, from: position + 1, in: context)
            case .retry(let retrier):
                return try await retry(retrier, request, from: position + 1, in: context)
            case .validate(let validator):
                return try await validate(validator, request, from: position + 1, in: context)
            // Never reached: calls fail earlier, with the fault of the plan.
            case .idle: position += 1
            }
        }
        return try await send(request, in: context)
    }

    private func pass(at position: Int) -> GatePass { GatePass(plan: self, position: position) }

    /// The name of the gate at a position.
    func gateName(at position: Int) -> String {
        gateNames.withLock { kept in
            let names = kept ?? nodes.map(\.gate.gateName)
            kept = names
            return names[position]
        }
    }

    // A synchronous function, so that the synchronous requirement is called.
    func adapt(
        _ adapter: any SynchronousRequestAdapter, _ request: inout Request, _ context: Context
    ) throws {
        try adapter.adapt(&request, context: context)
    }
}

extension Plan.Node {
    /// The fault of the gate, or nil.
    fileprivate var fault: ClientError? {
        guard case .idle(let gate) = self else { return nil }
        return ClientError(
            .configuration,
            "the gate \(gate.gateName) plays no role and would do nothing; conform it to"
                + " Interceptor, RequestAdapter, RequestRetrier, ResponseValidator,"
                + " RequestLogger or MetricsRecorder")
    }

    fileprivate var gate: any Gate {
        switch self {
        case .group(let gate, _): gate
        case .interceptor(let gate): gate
        case .metrics(let gate): gate
        case .log(let gate): gate
        case .retry(let gate): gate
        case .validate(let gate): gate
        case .adapt(let gate): gate
        case .adaptNow(let gate): gate
        case .idle(let gate): gate
        }
    }

    /// Whether the rest of the chain runs inside the gate.
    fileprivate var wraps: Bool {
        switch self {
        case .interceptor, .metrics, .log, .retry, .validate: true
        case .group, .adapt, .adaptNow, .idle: false
        }
    }

    /// Whether the gate may add to a request who the client is.
    fileprivate var mayProveClient: Bool {
        switch self {
        case .group, .metrics, .log, .retry, .validate, .idle: return false
        case .interceptor, .adapt, .adaptNow: break
        }
        guard let facts = gate.facts(for: nil) else { return true }
        return !facts.kinds.isDisjoint(with: [.authentication, .cookies])
    }

    /// The number of following nodes that may be skipped.
    fileprivate var passable: Int { if case .group(_, let count) = self { count } else { 0 } }

    /// How the node reacts to cancellation; a synchronous node has nothing to await.
    fileprivate var promptness: Promptness {
        switch self {
        case .group, .metrics, .log, .adaptNow, .idle: .withInside
        case .interceptor(let gate): Self.promptness(of: gate)
        case .retry(let gate): Self.promptness(of: gate)
        case .validate(let gate): Self.promptness(of: gate)
        case .adapt(let gate): Self.promptness(of: gate)
        }
    }

    private static func promptness(of gate: any Gate) -> Promptness {
        (gate as? any PromptlyCancellable)?.promptness ?? .unknown
    }
}
