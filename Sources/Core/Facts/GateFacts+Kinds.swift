// SPDX-License-Identifier: Apache-2.0

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
