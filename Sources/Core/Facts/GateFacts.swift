// SPDX-License-Identifier: Apache-2.0

/// The facts that a gate states about its work and its settings.
///
/// A gate returns the facts from ``Gate/facts(for:)``. Checks and explanations of a stack use only
/// facts, and never the name of a gate. A custom gate is therefore treated like a built-in gate.
///
/// ```swift
/// struct SignRequests: RequestAdapter {
///     func facts(for request: Request?) -> GateFacts? {
///         GateFacts(
///             "signs the request and its date",
///             .setsFields(["Authorization"], .secret(isBound: true)),
///             .stampsTime(valid: .seconds(300)))
///     }
/// }
/// ```
public struct GateFacts: Sendable {
    /// The work of the gate, as a phrase that follows the gate's name, such as `makes up to 3
    /// attempts, 100 ms to 10 s apart`.
    public var summary: String
    /// The effects of the gate on calls, in order.
    public var effects: [GateEffect]
    /// The header fields that the gate sets, with the values that are known before a call; output
    /// must redact these values.
    public var fields: HTTPHeaders
    /// The place that the gate must have, if the effects do not define the place.
    public var order: [GateOrder]
    /// The reason why the gate does not change this request, or nil if the gate applies.
    ///
    /// Without a request, the reason is also nil. The text is the end of a sentence, for example
    /// `the request has an Authorization field already`.
    public var passedOver: String?

    /// Whether the gate applies to only some of several equal requests.
    public var appliesByLot = false

    /// Whether the gate identifies the user of a call by other means than header fields.
    ///
    /// Only a gate that stores or shares responses sets this property. If true, inner gates may set
    /// the credentials of the callers.
    public var knowsCaller = false

    /// Whether the gate stores responses without a partition, which other clients may use.
    public var lacksPartition = false

    /// Whether the gate adds a value that depends on the content, such as a signature.
    public var signsContent = false

    /// Whether the gate refuses requests without TLS.
    public var requiresTLS = false

    /// The origins that the gate lists, if the gate is for some origins only: the origins of a
    /// credential, or the origins of a group.
    public var origins: Set<Origin>?

    /// The quotas that the gate uses; each quota has a unique text.
    ///
    /// If a request passes through two gates with a common quota, the request uses the quota twice.
    public var sharedQuotas: Set<String> = []

    /// Creates facts.
    public init(
        _ summary: String, _ effects: GateEffect..., fields: HTTPHeaders = [:],
        order: [GateOrder] = [], passedOver: String? = nil
    ) {
        self.summary = summary
        self.effects = effects
        self.fields = fields
        self.order = order
        self.passedOver = passedOver
    }
}

/// A kind of gate, which one effect of the gate defines.
public enum GateKind: Sendable, Hashable, CaseIterable {
    /// A gate with ``GateEffect/retries(attempts:waits:repeatsUnsafe:)``.
    case retry
    /// A gate with ``GateEffect/hedges(copies:after:)``.
    case hedge
    /// A gate with ``GateEffect/redirects(hops:)``.
    case redirect
    /// A gate with ``GateFieldContent/secret(isBound:variesByCall:)``, but without cookies.
    case authentication
    /// A gate with ``GateEffect/storesResponses``.
    case cache
    /// A gate with ``GateAnswer/shared``.
    case coalesce
    /// A gate with ``GateEffect/limitsTime(_:_:)`` for ``GateTimeExtent/body``.
    case deadline
    /// A gate with ``GateEffect/limitsTime(_:_:)`` for ``GateTimeExtent/head``.
    case attemptTimeout
    /// A gate with ``GateEffect/limitsConcurrency(_:)``.
    case concurrencyLimit
    /// A gate with ``GateEffect/limitsRate(_:per:)``.
    case rateLimit
    /// A gate with ``GateEffect/breaksCircuit``.
    case circuitBreaker
    /// A gate with ``GateEffect/choosesEndpoint(for:)``.
    case endpoints
    /// A gate with ``GateEffect/rejectsResponses``.
    case validation
    /// A gate with ``GateEffect/keepsCookies``.
    case cookies
    /// A gate with ``GateEffect/logs(content:)``.
    case log
    /// A gate with ``GateEffect/measures(hasBoundedLabels:)``.
    case metrics
}

extension GateFacts {
    /// The kinds of the gate, which follow from the effects.
    public var kinds: Set<GateKind> {
        var kinds = Set(effects.compactMap(\.kind))
        // A cookie gate also sets a field with secrets.
        if kinds.contains(.cookies) { kinds.remove(.authentication) }
        return kinds
    }
}

extension GateEffect {
    fileprivate var kind: GateKind? {
        switch self {
        case .retries: .retry
        case .hedges: .hedge
        case .redirects: .redirect
        case .answers(.shared): .coalesce
        case .limitsTime(_, .body): .deadline
        case .limitsTime(_, .head): .attemptTimeout
        case .limitsConcurrency: .concurrencyLimit
        case .limitsRate: .rateLimit
        case .breaksCircuit: .circuitBreaker
        case .setsFields(_, .secret): .authentication
        case .keepsCookies: .cookies
        case .choosesEndpoint: .endpoints
        case .rejectsResponses: .validation
        case .storesResponses: .cache
        case .logs: .log
        case .measures: .metrics
        case .replays, .answers, .limitsTime, .waits, .setsFields, .stampsTime,
            .identifiesRepetition, .upgradesScheme, .checksTarget, .changesContent, .selects,
            .sharesState, .readsContent, .limitsContent, .limitsDecoding, .holdsMemory, .holdsDisk:
            nil
        }
    }
}

/// The place that a gate must have relative to other gates.
public struct GateOrder: Sendable {
    /// The relation of the gate to the other gates.
    public enum Relation: Sendable, Hashable {
        /// Outside of every gate of the kind, if the stack has such a gate.
        case outside
        /// Inside of every gate of the kind, if the stack has such a gate.
        case inside
        /// Outside of a gate of the kind, which the stack must have.
        case outsideOfPresent
        /// Inside of a gate of the kind, which the stack must have.
        case insideOfPresent
    }

    /// The relation of the gate to the other gates.
    public let relation: Relation
    /// The kind of the other gates.
    public let kind: GateKind
    /// A sentence about the harm of another order.
    public let reason: String

    /// Creates an order.
    public init(_ relation: Relation, _ kind: GateKind, because reason: String) {
        self.relation = relation
        self.kind = kind
        self.reason = reason
    }
}
