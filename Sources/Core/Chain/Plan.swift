/// A stack, compiled once: an immutable run of nodes that every call passes without an allocation
/// of its own.
///
/// Here, and nowhere else, is decided how a gate is lowered. A gate with an `intercept` of its own
/// is that and nothing else; a gate of several roles becomes a node for each, outermost first:
/// metrics, log, retry, validate, adapt. A group becomes its gates behind a node that can pass over
/// them.
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
    private let nodes: [Node]
    // For each node, and for the transport behind them.
    private let heeds: [Bool]
    // -1 where there is none.
    private let innermostRetry: Int
    private let unmet: ClientError?

    /// How often one call may be handed to the transport, redirect hops apart.
    static let sendLimit = 12

    init(gates: [any Gate], transport: any Transport) {
        self.gates = gates
        self.transport = transport
        handledOptions = Set(gates.lazy.flatMap(\.handledOptions).map { ObjectIdentifier($0) })
        nodes = gates.flatMap(Self.lower)
        heeds = Self.heeds(nodes, transport)
        innermostRetry = nodes.lastIndex { if case .retry = $0 { true } else { false } } ?? -1
        unmet =
            gates.lazy.flatMap(\.flattened).compactMap { gate in
                transport.capabilities.fault(
                    missing: gate.requirements, for: "the gate \(gate.name)")
            }.first
    }

    /// The plan with more gates around it and nearest the transport, for one call.
    func extended(outside: [any Gate], inside: [any Gate]) -> Plan {
        if outside.isEmpty && inside.isEmpty { return self }
        return Plan(gates: outside + gates + inside, transport: transport)
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

    private static func heeds(_ nodes: [Node], _ transport: any Transport) -> [Bool] {
        var heeds = [(transport as? any Heeding)?.heed == .always]
        for node in nodes.reversed() {
            switch node.heed {
            case .unknown: heeds.append(false)
            // Gates of a group may be passed over.
            case .withInside:
                heeds.append(heeds[heeds.count - 1] && heeds[heeds.count - 1 - node.passable])
            case .always: heeds.append(true)
            }
        }
        return heeds.reversed()
    }

    /// Whether what is from a position on may be tried again by a retry there.
    func retries(from position: Int) -> Bool { position <= innermostRetry }

    /// Whether all from a position on ends soon after its context and task are cancelled.
    func heedsCancellation(from position: Int) -> Bool { heeds[position] }

    func run(
        _ request: Request, from start: Int, in context: Context
    ) async throws -> Response {
        var position = start
        var request = request
        while position < nodes.count {
            switch nodes[position] {
            case .group(let group, let count):
                position += group.applies(to: request, context: context) ? 1 : 1 + count
            case .adaptNow(let adapter):
                try adapt(adapter, &request, context)
                position += 1
            case .adapt(let adapter):
                try await adapter.adapt(&request, context: context)
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
            case .idle(let gate):
                throw ClientError(
                    .configuration,
                    "the gate \(gate.name) plays no role and would do nothing; conform it to"
                        + " Interceptor, RequestAdapter, RequestRetrier, ResponseValidator,"
                        + " RequestLogger or MetricsRecorder")
            }
        }
        return try await send(request, in: context)
    }

    // Outside an async function, where the synchronous form is the one that is called.
    private func adapt(
        _ adapter: any SynchronousRequestAdapter, _ request: inout Request, _ context: Context
    ) throws {
        try adapter.adapt(&request, context: context)
    }

    /// Hands a request to the transport, after the last look at it.
    private func send(_ request: Request, in context: Context) async throws -> Response {
        try context.checkCancellation()
        if let unmet { throw unmet }
        let body = request.body
        if let fault = body.fault { throw fault }
        if let fault = request.fault { throw ClientError(.invalidRequest, fault) }
        try body.checkFiles()
        if body.isLive,
            let unmet = transport.capabilities.fault(
                missing: .liveUpload, for: "the live request body")
        {
            throw unmet
        }
        if body.hasTrailers,
            let unmet = transport.capabilities.fault(
                missing: .requestTrailers, for: "the request body")
        {
            throw unmet
        }
        var request = request
        // Of a body that a gate has given it; the call has seen to its own.
        request.describeBody()
        if body.hasTrailers { request.announceTrailers() }
        request.uniteCookies()
        request.askForPlainRange()
        let record = context.call.record
        let now = context.timeSource.now
        guard record.willSend(request, attempt: context.attempt, at: now, limit: Self.sendLimit)
        else {
            throw ClientError(
                .sendLimit,
                "one call was about to be sent more than \(Self.sendLimit) times; look for a retry around"
                    + " another retry, or a replay that never succeeds")
        }
        context.emit(.sent, request: request)
        var response = try await transport.send(request, context: context)
        let headAt = context.timeSource.now
        let head = record.didReceiveHead(of: response, at: headAt)
        response.record = record
        response.headAt = headAt
        response.body.storage.attach(to: context.call, head: response.head, number: head)
        if response.status.hasNoContent || request.method == .head {
            response.body.refuseContent(of: response.status, to: request.method)
        }
        response.body.storage.endIfNothingComes()
        context.emit(.received, request: request, head: response.head)
        return response
    }
}

extension Plan.Node {
    /// How many nodes behind this one may be passed over.
    fileprivate var passable: Int { if case .group(_, let count) = self { count } else { 0 } }

    /// How the node takes a cancellation; what is synchronous has nothing to wait for.
    fileprivate var heed: Heed {
        switch self {
        case .group, .metrics, .log, .adaptNow, .idle: .withInside
        case .interceptor(let gate): Self.heed(of: gate)
        case .retry(let gate): Self.heed(of: gate)
        case .validate(let gate): Self.heed(of: gate)
        case .adapt(let gate): Self.heed(of: gate)
        }
    }

    private static func heed(of gate: any Gate) -> Heed { (gate as? any Heeding)?.heed ?? .unknown }
}
