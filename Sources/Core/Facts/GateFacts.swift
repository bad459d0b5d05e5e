// SPDX-License-Identifier: Apache-2.0

/// The facts that a gate states about itself and its settings.
///
/// A gate states its facts in ``Gate/facts(for:)``. Checks and explanations of a stack use only
/// facts, and never the name of a gate. A user's gate is therefore treated like a built-in gate.
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
    /// The gate's work, as the end of a sentence that begins with the gate's name, such as `makes
    /// up to 3 attempts, 100 ms to 10 s apart`.
    public var summary: String
    /// The effects of the gate on calls, in their order.
    public var effects: [GateEffect]
    /// The header fields that the gate sets, with the values known before a call; output must
    /// redact these values.
    public var fields: HTTPHeaders
    /// The place that the gate must have, if the place does not follow from the effects.
    public var order: [GateOrder]
    /// The reason why the gate does not change this request; nil if the gate applies.
    ///
    /// The reason is also nil if there is no request. The text is the end of a sentence, for
    /// example `the request has an Authorization field already`.
    public var passedOver: String?

    /// Whether the gate applies to only some of several equal requests.
    public var appliesByLot = false

    /// Whether the gate identifies the user of a call by other means than the request's fields.
    ///
    /// Only a gate that stores or shares responses sets this property. If it is true, inner gates
    /// may set the credentials of the callers.
    public var knowsCaller = false

    /// Whether the gate stores responses without a partition, so that other clients find them.
    public var lacksPartition = false

    /// Whether the gate adds a value that depends on the content, such as a signature.
    public var signsContent = false

    /// Whether the gate refuses requests that would not go over TLS.
    public var requiresTLS = false

    /// The origins that the gate lists, if it is used only for some: the origins of a credential,
    /// or the origins of a group.
    public var origins: Set<Origin>?

    /// The quotas that the gate uses; each quota has a unique text.
    ///
    /// If a request passes two gates with a common quota, the request uses the quota twice.
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

/// A kind of gate, defined by one of its effects.
public enum GateKind: Sendable, Hashable, CaseIterable {
    /// ``GateEffect/retries(attempts:waits:repeatsUnsafe:)``
    case retry
    /// ``GateEffect/hedges(copies:after:)``
    case hedge
    /// ``GateEffect/redirects(hops:)``
    case redirect
    /// ``GateFieldContent/secret(isBound:variesByCall:)``, but no cookies
    case authentication
    /// ``GateEffect/storesResponses``
    case cache
    /// ``GateAnswer/shared``
    case coalesce
    /// ``GateEffect/limitsTime(_:_:)`` up to ``GateTimeExtent/body``
    case deadline
    /// ``GateEffect/limitsTime(_:_:)`` up to ``GateTimeExtent/head``
    case attemptTimeout
    /// ``GateEffect/limitsConcurrency(_:)``
    case concurrencyLimit
    /// ``GateEffect/limitsRate(_:per:)``
    case rateLimit
    /// ``GateEffect/breaksCircuit``
    case circuitBreaker
    /// ``GateEffect/choosesEndpoint(for:)``
    case endpoints
    /// ``GateEffect/rejectsResponses``
    case validation
    /// ``GateEffect/keepsCookies``
    case cookies
    /// ``GateEffect/logs(content:)``
    case log
    /// ``GateEffect/measures(hasBoundedLabels:)``
    case metrics
}

extension GateFacts {
    /// The kinds to which the gate belongs by its effects.
    public var kinds: Set<GateKind> {
        var kinds = Set(effects.compactMap(\.kind))
        // A cookie jar also sets a field with secrets.
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

/// The place that a gate must have relative to other gates, as the gate states it.
public struct GateOrder: Sendable {
    /// The place of the gate in relation to others.
    public enum Relation: Sendable, Hashable {
        /// Nearer to the caller than every gate of the kind, if there is one.
        case outside
        /// Nearer to the transport than every gate of the kind, if there is one.
        case inside
        /// Nearer to the caller than a gate of the kind; such a gate must be present.
        case outsideOfPresent
        /// Nearer to the transport than a gate of the kind; such a gate must be present.
        case insideOfPresent
    }

    /// The relation.
    public let relation: Relation
    /// The kind of the other gates.
    public let kind: GateKind
    /// The harm if the gates have another order, as a sentence.
    public let reason: String

    /// Creates an order.
    public init(_ relation: Relation, _ kind: GateKind, because reason: String) {
        self.relation = relation
        self.kind = kind
        self.reason = reason
    }
}
