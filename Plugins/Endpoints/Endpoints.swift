// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport
public import TurnpikeTraffic

/// Sends the requests for a logical name to endpoints, and avoids failing endpoints.
///
/// ```swift
/// let client = Client(transport: CurlTransport()) {
///     Retry()
///     AttemptTimeout(.seconds(2))
///     Endpoints(for: "users.internal", from: .file("/etc/endpoints/users.json"))
/// }
/// let user = try await client.get("http://users.internal/users/7").decode(User.self)
/// ```
///
/// Only the connection goes to the endpoint (``/TurnpikeCore/RequestOptions/connectTarget``). URL,
/// `Host`, the name in the certificate, cookies, cache keys, credentials, breakers and metrics use
/// the logical name. If the transport does not support connect targets, the client has a fault.
/// Requests to other hosts, and requests that already have a connect target, pass unchanged.
///
/// Place the gate next to the transport, inside ``/TurnpikeMiddleware/Retry``, `Hedge`,
/// `AdmissionControl` and ``/TurnpikeTraffic/CircuitBreaker``. In this place, each attempt chooses
/// an endpoint, and avoids endpoints that the call has already tried. A request counts as running
/// until the response body was read, broke off, was cancelled or was dropped.
///
/// The first call waits for the list, within its deadline. If no new list arrives, the last list
/// stays in use (<doc:SeveralEndpoints>). Without any list, calls fail unsent as
/// ``/TurnpikeCore/ClientError/Code/dns``, or with the resolver's ``/TurnpikeCore/ClientError``. A
/// failing endpoint is ejected for some time (``EndpointHealth``). If several stacks use one gate,
/// these stacks share the state.
public struct Endpoints: Interceptor {
    private let service: ServiceName
    private let balancer: LoadBalancer
    private let decide: @Sendable (Outcome) -> CircuitVerdict

    /// Creates a gate.
    /// - Parameters:
    ///   - host: The logical host, with or without a port, such as `users.internal` or
    ///     `users.internal:8080`. Without a port, all ports match. Both http and https match.
    ///   - resolver: Finds the endpoints.
    ///   - policy: The rule that chooses an endpoint for a request.
    ///   - zone: The preferred zone; nil for no zone.
    ///   - subset: The part of the endpoints that this client uses; nil for all endpoints.
    ///   - health: The rules for when an endpoint is ejected, and for how long.
    ///   - meter: Receives the endpoints by state (`turnpike.endpoints.count`), and counts
    ///     ejections (`….ejections`), failures of endpoints that could not be ejected (`….spared`),
    ///     failed refreshes (`….refresh_failures`), and choices among all endpoints if too few are
    ///     healthy (`….panics`).
    ///   - verdict: Decides whether an outcome is a failure of the endpoint. The closure is not
    ///     called for a cancellation.
    public init(
        for host: String, from resolver: any EndpointResolver,
        policy: BalancingPolicy = .leastRequests, zone: EndpointZone? = nil,
        subset: EndpointSubset? = nil, health: EndpointHealth = EndpointHealth(),
        meter: (any GateMeter)? = nil,
        verdict: @escaping @Sendable (Outcome) -> CircuitVerdict = CircuitVerdict.standard
    ) {
        let rules = EndpointRules(
            resolver: resolver, policy: policy, zone: zone, subset: subset, health: health)
        service = ServiceName(host)
        balancer = LoadBalancer(service, rules, meter: meter)
        decide = verdict
    }

    /// Adopts the rules and the meter of another gate for the same host.
    ///
    /// The endpoints keep their state. The current list stays in use until a new list arrives.
    public func update(to other: Endpoints) { balancer.update(to: other.balancer) }

    /// The fault of the host text, which fails each call, or nil.
    public var fault: ClientError? { service.fault }

    /// The gate needs a transport with connect targets.
    public var requiredCapabilities: TransportCapabilities { .connectTargets }

    var members: [EndpointMember] { balancer.members }

    /// Ends the refresh and the checks, and flushes the meter.
    public func shutdown() async {
        balancer.stop()
        await balancer.figures.flush()
    }

    /// Reports the choice of endpoints, and the longest wait of a request for the list.
    public func facts(for request: Request?) -> GateFacts? {
        let isOther = request.map { !service.matches($0.origin) } ?? false
        return GateFacts(
            "sends each request for \(service) to \(balancer.text)",
            .choosesEndpoint(for: service.description),
            .waits(atMost: LoadBalancer.refreshLimit, reason: "the first list of endpoints"),
            .answers(.refusal),
            order: [
                GateOrder(
                    .inside, .retry,
                    because: "All attempts of a call would go to the same endpoint."),
                GateOrder(
                    .inside, .hedge,
                    because: "A copy would go to the endpoint that is already late."),
                GateOrder(
                    .inside, .circuitBreaker,
                    because:
                        "An endpoint would be chosen, and count as tried, for a request that the"
                        + " breaker refuses."),
                GateOrder(
                    .inside, .redirect,
                    because: "A redirect to another host would be followed at the same endpoint."
                ),
            ],
            passedOver: isOther ? "the request is not for \(service)" : nil)
    }

    /// The number of usable endpoints, and the unusable endpoints.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        balancer.liveFigures(at: now)
    }

    /// Runs the inner gates with an endpoint for the connection.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if let fault = service.fault { throw fault }
        guard let origin = request.origin, service.matches(origin),
            request.options.connectTarget == nil
        else { return try await next(request) }
        let view = try await balancer.view(in: context, for: origin, next)
        let lease = try balancer.lease(of: view, for: request, in: context)
        var sent = request
        sent.options.connectTarget = lease.target
        do {
            let response = try await next(sent)
            watch(response, to: request, lease, context)
            return response
        } catch {
            balancer.conclude(lease, verdict(request, error, context), in: context)
            throw error
        }
    }

    private func watch(
        _ response: Response, to request: Request, _ lease: EndpointLease, _ context: Context
    ) {
        let atHead = decide(Outcome(request: request, result: .success(response)))
        lease.hasHead(atHead, at: context.timeSource.now)
        if response.body.isEmpty { return balancer.conclude(lease, atHead, in: context) }
        // A bad status counts at once, but the request runs until the response body ends.
        if atHead == .failure { balancer.judge(lease, .failure, in: context) }
        response.body.onEnd { [self] end in
            switch end.reason {
            case .finished, .dropped: balancer.conclude(lease, atHead, in: context)
            case .cancelled: balancer.conclude(lease, .ignored, in: context)
            case .failed(let error):
                balancer.conclude(lease, verdict(request, error, context), in: context)
            }
        }
    }

    // The attempt timeout of an outer gate is a failure of the endpoint. Any other cancellation
    // from outside is no failure.
    private func verdict(
        _ request: Request, _ error: any Error, _ context: Context
    ) -> CircuitVerdict {
        let outcome = Outcome(request: request, result: .failure(error))
        let isGivenUp =
            outcome.isCancellation
            || (context.cancelReason != nil && outcome.code != .attemptTimeout)
        return isGivenUp ? .ignored : decide(outcome)
    }
}

extension Endpoints: PromptlyCancellable {}

extension Gate where Self == Endpoints {
    /// Sends the requests for a logical name to endpoints; see
    /// ``Endpoints/init(for:from:policy:zone:subset:health:meter:verdict:)``.
    public static func endpoints(
        for host: String, from resolver: any EndpointResolver,
        policy: BalancingPolicy = .leastRequests, zone: EndpointZone? = nil,
        subset: EndpointSubset? = nil, health: EndpointHealth = EndpointHealth(),
        meter: (any GateMeter)? = nil,
        verdict: @escaping @Sendable (Outcome) -> CircuitVerdict = CircuitVerdict.standard
    ) -> Self {
        Endpoints(
            for: host, from: resolver, policy: policy, zone: zone, subset: subset,
            health: health, meter: meter, verdict: verdict)
    }
}

/// The logical host of a gate's endpoints, with or without a port.
struct ServiceName: Sendable, CustomStringConvertible {
    let description: String
    /// The host in lower case, without brackets around an IPv6 address.
    let host: String
    /// The port; nil for all ports.
    let port: Int?
    /// The fault of the text, which fails each call, or nil.
    let fault: ClientError?

    init(_ text: String) {
        description = text.lowercased()
        let url = Request(.get, "http://\(description)/")
        let isAlone = !description.contains { "/?#@".contains($0) }
        if isAlone, url.fault == nil, let origin = url.origin {
            host = origin.host
            port = description.hasSuffix(":\(origin.port)") ? origin.port : nil
            fault = nil
        } else {
            (host, port) = ("", nil)
            fault = ClientError(
                .configuration,
                "found \"\(Grammar.escaped(String(text.prefix(80))))\" as the host of endpoints;"
                    + " expected a host, or a host and a port: users.internal:8080",
                transfer: TransferState(.connecting))
        }
    }

    func matches(_ origin: Origin?) -> Bool {
        guard let origin else { return false }
        return origin.host == host && (port == nil || origin.port == port)
    }

    /// The labels of the service in meters, named as in OpenTelemetry.
    var meterLabels: [String: String] {
        var labels = ["server.address": host]
        if let port { labels["server.port"] = String(port) }
        return labels
    }
}
