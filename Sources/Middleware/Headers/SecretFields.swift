import TurnpikeCore

/// Decides whether a gate may set a field whose name is that of a secret: not on a request that a
/// redirect has led elsewhere, for then another server chose where it goes.
struct SecretFields: Sendable {
    // nil: where the call began.
    private let scope: CredentialScope?

    init(for origins: CredentialOrigins?) { scope = origins.map { CredentialScope($0) } }

    /// The names of fields that stay out of a request.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` where an origin is none.
    func heldBack(
        _ headers: HTTPHeaders, from request: Request, gate: String, in context: Context
    ) throws -> Set<HTTPHeaders.Name> {
        let trail = request.options[RedirectTrail.self]
        if trail == nil && scope == nil { return [] }
        let secrets = headers.lazy.map(\.name).filter { Redaction.standard.hides(header: $0) }
        guard !secrets.isEmpty else { return [] }
        let mayGo =
            try scope?.reaches(request, in: context)
            ?? (trail ?? []).allSatisfy { before in
                request.origin.map(before.isSameOrUpgraded(by:)) ?? false
            }
        if mayGo { return [] }
        let place = request.origin?.description ?? "?"
        context.note(gate: gate, "leaves fields with secrets out, which are not for \(place)")
        return Set(secrets)
    }
}

extension Settings {
    /// The origins that fields with secrets are for; nil, where none are named, is where a call
    /// begins.
    func secretOrigins() -> CredentialOrigins? {
        value("origins") == nil ? nil : credentialOrigins()
    }
}
