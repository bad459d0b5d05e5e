import Foundation
public import TurnpikeCore

extension Registry {
    /// Registers the gates of this module under their names in stack files.
    public mutating func registerMiddleware() {
        register(gate: "attemptTimeout") { AttemptTimeout(settings: $0) }
        register(gate: "basic") { BasicAuthentication(settings: $0) }
        register(gate: "bearer") { BearerAuthentication(settings: $0) }
        register(gate: "circuitBreaker") { CircuitBreaker(settings: $0) }
        register(gate: "coalesce") { Coalesce(settings: $0) }
        register(gate: "compressBodies") { CompressBodies(settings: $0) }
        register(gate: "concurrencyLimit") { ConcurrencyLimit(settings: $0) }
        register(gate: "cookies") { try Cookies(settings: $0) }
        register(gate: "deadline") { Deadline(settings: $0) }
        register(gate: "defaultHeaders") { DefaultHeaders(settings: $0) }
        register(gate: "digest") { DigestAuthentication(settings: $0) }
        register(gate: "fallback") { Fallback(settings: $0) }
        register(gate: "headers") { SetHeaders(settings: $0) }
        register(gate: "hedge") { Hedge(settings: $0) }
        register(gate: "idempotencyKey") { IdempotencyKey(settings: $0) }
        register(gate: "hsts") { try HSTS(settings: $0) }
        register(gate: "idleTimeout") { IdleTimeout(settings: $0) }
        register(gate: "limits") { Limits(settings: $0) }
        register(gate: "log") { Log(settings: $0) }
        register(gate: "metrics") { Metrics(settings: $0) }
        register(gate: "rateLimit") { RateLimit(settings: $0) }
        register(gate: "redirect") { Redirect(settings: $0) }
        register(gate: "requestID") { RequestID(settings: $0) }
        register(gate: "retry") { Retry(settings: $0) }
        register(gate: "traceContext") { TraceContext(settings: $0) }
        register(gate: "urlPolicy") { URLPolicy(settings: $0) }
        register(gate: "userAgent") { UserAgent(settings: $0) }
        register(gate: "validate") { Validate(settings: $0) }
    }
}
