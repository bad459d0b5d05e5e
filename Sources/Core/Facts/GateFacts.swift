// SPDX-License-Identifier: Apache-2.0

/// What is true of a gate as it is configured.
///
/// A gate states its facts in ``Gate/facts(for:)``. Checks and explanations of a stack go by facts
/// alone and know no gate by its name, so that a gate of a user's is judged like a built-in one.
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
    /// What the gate does, as the end of a sentence that begins with its name:
    /// `makes up to 3 attempts, 100 ms to 10 s apart`.
    public var summary: String
    /// What it does to calls, in the order in which it does it.
    public var effects: [GateEffect]
    /// Header fields that it sets, with their values, as far as they are known before a call.
    ///
    /// Whoever shows them redacts them.
    public var fields: HTTPHeaders
    /// Where it must stand, beyond what follows from its effects.
    public var order: [GateOrder]
    /// Why the gate passes this request on untouched; nil if it applies, or if no request is given.
    ///
    /// The end of a sentence: `the request has an Authorization field already`.
    public var passedOver: String?

    /// Whether the gate knows for whom a call is made by other means than the fields of the request.
    ///
    /// For a gate that stores or shares responses, whose callers' credentials may then be set
    /// further inside.
    public var knowsCaller = false

    /// Whether the gate would keep responses where others find them, and was not told for whom they are.
    public var lacksPartition = false

    /// Whether what the gate puts into a request depends on the content, such as a signature of it.
    public var signsContent = false

    /// Whether the gate refuses requests that would not go over TLS.
    public var requiresTLS = false

    /// The origins to which the gate keeps, if it lists them: those of a credential, or those of a
    /// group that applies to some origins alone.
    public var origins: Set<Origin>?

    /// The quotas on which the gate draws, by texts that tell each from all others.
    ///
    /// A request that passes two gates with one in common draws on it twice.
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

/// A kind of gate, told by one of its effects.
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
    /// The kinds of gate that the effects make this one.
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

/// Where a gate must stand, by its own account.
public struct GateOrder: Sendable {
    /// Where the gate stands in relation to others.
    public enum Relation: Sendable, Hashable {
        /// Nearer to the caller than every gate of the kind, if there is one.
        case outside
        /// Nearer to the transport than every gate of the kind, if there is one.
        case inside
        /// Nearer to the caller than a gate of the kind, which must be there.
        case outsideOfPresent
        /// Nearer to the transport than a gate of the kind, which must be there.
        case insideOfPresent
    }

    /// The relation.
    public let relation: Relation
    /// The kind of the other gates.
    public let kind: GateKind
    /// What goes wrong otherwise, as a sentence.
    public let reason: String

    /// Creates an order.
    public init(_ relation: Relation, _ kind: GateKind, because reason: String) {
        self.relation = relation
        self.kind = kind
        self.reason = reason
    }
}
