// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// Makes deliberate faults, to test how the outer gates handle faults.
///
/// ```swift
/// let drill = Switch(share: 0)
/// let client = Client(transport: transport) {
///     Deadline(.seconds(2))
///     Retry(attempts: 3)
///     Chaos(.status(503), rate: 0.05, switch: drill) { $0.url.path().hasPrefix("/search") }
/// }
/// drill.set(share: 1, by: "Ann, game day")
/// ```
///
/// The gate does nothing until code or a stack file turns on the gate's
/// ``/TurnpikeMiddleware/Switch``. Place the gate next to the transport. By default, requests that
/// must not be sent twice (``/TurnpikeCore/Request/isRepeatable``) get no fault. A request that can
/// be sent only once never gets a fault.
///
/// Each fault appears in the log, in the trace beside the name of the gate, and in the counter
/// `turnpike.chaos.faults`. The text of an error says that the error is deliberate, and a response
/// has the field `X-Turnpike-Chaos`.
public struct Chaos: Interceptor {
    /// The fault that the gate makes.
    public enum Fault: Sendable, Hashable {
        /// The request is not sent, and fails with this code.
        case error(ClientError.Code)
        /// The request is not sent, and the response has this status and no content.
        case status(HTTPStatus)
        /// The request is sent after this delay.
        case latency(Duration)
        /// The request is sent, and the response body breaks off.
        case droppedBody

        // The name of the fault in metrics, and the effect of the fault on a request.
        fileprivate var texts: (label: String, happening: String) {
            switch self {
            case .error(let code): ("error", "fails as \(code.rawValue)")
            case .status(let status): ("status", "is answered with \(status.code)")
            case .latency(let time): ("latency", "waits \(time.text)")
            case .droppedBody: ("dropped_body", "has a body that breaks off")
            }
        }
    }

    private let fault: Fault
    private let rate: Double
    private let seed: UInt64?
    private let control: Switch
    private let sparesUnrepeatable: Bool
    private let isMeant: @Sendable (Request) -> Bool
    private let figures: GateFigures

    /// Creates a gate that makes one kind of fault.
    /// - Parameters:
    ///   - fault: The fault that the gate makes.
    ///   - rate: The share of the requests that get the fault, from 0 to 1.
    ///   - seed: With a seed, each run makes the same faults, which depend on the numbers of calls
    ///     and attempts.
    ///   - control: Turns the gate on and off. By default, the gate is off.
    ///   - sparesUnrepeatable: Whether the gate spares requests that must not be sent twice.
    ///   - meter: Counts the faults (`turnpike.chaos.faults`).
    ///   - isMeant: Decides whether a request may get the fault.
    public init(
        _ fault: Fault, rate: Double = 1, seed: UInt64? = nil,
        switch control: Switch = Switch(share: 0), sparesUnrepeatable: Bool = true,
        meter: (any GateMeter)? = nil,
        matching isMeant: @escaping @Sendable (Request) -> Bool = { _ in true }
    ) {
        self.fault = fault
        self.rate = rate
        self.seed = seed
        self.control = control
        self.sparesUnrepeatable = sparesUnrepeatable
        self.isMeant = isMeant
        figures = GateFigures(
            meter,
            help: ["turnpike.chaos.faults": "Faults that were made on purpose, by kind."])
    }

    /// Flushes the meter.
    public func shutdown() async { await figures.flush() }

    /// Reports the effect of the fault, or no effect if the gate is off.
    public func facts(for request: Request?) -> GateFacts? {
        let isOff = control.share == 0 || !(rate > 0)
        var facts = GateFacts(
            "makes faults on purpose in \((min(max(rate, 0), 1) * 1000).rounded() / 10) % of the"
                + " requests: each of them \(fault.texts.happening); the switch is \(control.text)"
        )
        if isOff {
            facts.passedOver = request.map { _ in "it is off" }
        } else if let request, !mayHit(request) {
            facts.passedOver = "the fault is not for this request"
        }
        switch fault {
        case _ where isOff: break
        // The outer gates treat the status as a refusal.
        case .error, .status: facts.effects = [.answers(.refusal)]
        case .latency(let time):
            facts.effects = [.waits(atMost: time, reason: "latency on purpose")]
        case .droppedBody: break
        }
        return facts
    }

    /// The state of the switch, which counts as trouble unless the switch is off.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        [control.liveFigure(isTrouble: control.share > 0 && rate > 0)]
    }

    /// Makes the fault, or sends the request.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard control.isOn(for: context, by: gateName), mayHit(request), strikes(in: context) else {
            return try await next(request)
        }
        context.report("on purpose, it \(fault.texts.happening)", by: gateName, describesPass: true)
        context.report(
            count: "turnpike.chaos.faults", labels: ["turnpike.fault": fault.texts.label],
            of: figures)
        switch fault {
        case .error(let code):
            throw ClientError(
                code, "\(gateName) has made this fault on purpose",
                transfer: TransferState(.connecting))
        case .status(let status):
            return Response(to: request, status: status, headers: [Self.mark: fault.texts.label])
        case .latency(let time):
            try await context.report(waitingFor: "latency on purpose") {
                try await $0.sleep(for: time)
            }
            return try await next(request)
        case .droppedBody:
            var response = try await next(request)
            response.head.headers[Self.mark] = fault.texts.label
            response.body = response.body.transforming { [gateName] _ in
                throw ClientError(
                    .incomplete, "\(gateName) has broken the body off on purpose",
                    transfer: TransferState(.receiving))
            }
            return response
        }
    }

    private static let mark: HTTPHeaders.Name = "X-Turnpike-Chaos"

    private func mayHit(_ request: Request) -> Bool {
        !request.options.isOneTime && (request.isRepeatable || !sparesUnrepeatable)
            && isMeant(request)
    }

    private func strikes(in context: Context) -> Bool {
        if rate >= 1 { return true }
        guard let seed else { return context.random.unit() < rate }
        // A call has at most 12 sends. With the factor 64, each send has a different number.
        var generator = SeededRandomSource(seed: seed)
            .generator(forCall: context.id.number &* 64 &+ UInt64(context.attempt))
        return generator.unit() < rate
    }
}

extension Gate where Self == Chaos {
    /// Makes deliberate faults while the switch is on; see
    /// ``Chaos/init(_:rate:seed:switch:sparesUnrepeatable:meter:matching:)``.
    public static func chaos(
        _ fault: Chaos.Fault, rate: Double = 1, seed: UInt64? = nil,
        switch control: Switch = Switch(share: 0), sparesUnrepeatable: Bool = true,
        meter: (any GateMeter)? = nil,
        matching isMeant: @escaping @Sendable (Request) -> Bool = { _ in true }
    ) -> Self {
        Chaos(
            fault, rate: rate, seed: seed, switch: control, sparesUnrepeatable: sparesUnrepeatable,
            meter: meter, matching: isMeant)
    }
}
