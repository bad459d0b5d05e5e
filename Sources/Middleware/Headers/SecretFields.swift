// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Decides whether a gate may set a field whose name is the name of a secret.
///
/// After a redirect to another origin, the gate may not set the field, because another server has
/// chosen the URL.
struct SecretFields: Sendable {
    // If nil, only the origin where the call began receives fields with secrets.
    private let scope: CredentialScope?

    init(for origins: CredentialOrigins?) { scope = origins.map { CredentialScope($0) } }

    var listed: Set<Origin>? { scope?.listed }

    // Returns the effects of a gate that sets fields, which may be secrets. If a request goes to an
    // origin that is not listed, the effects do not contain the fields with secrets.
    func effects(
        of names: some Sequence<HTTPHeaders.Name>, on request: Request?
    ) -> [GateEffect] {
        let names = names.reduce(into: [HTTPHeaders.Name]()) { names, name in
            if !names.contains(name) { names.append(name) }
        }
        let secrets = names.filter { Redaction.standard.hides(header: $0) }
        let plain = names.filter { !secrets.contains($0) }
        let areSent = request.flatMap { scope?.mayReach($0) } ?? true
        var effects: [GateEffect] = []
        if !plain.isEmpty { effects.append(.setsFields(plain, .plain)) }
        if !secrets.isEmpty, areSent {
            effects.append(.setsFields(secrets, .secret(isBound: scope != nil)))
        }
        return effects
    }

    /// Returns the names of the fields that the gate must not set on a request.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if an entry of the list is not an
    ///   origin.
    func heldBack(
        _ sections: HTTPHeaders..., from request: Request, by gate: some Gate, in context: Context
    ) throws -> Set<HTTPHeaders.Name> {
        let trail = request.options[RedirectTrail.self]
        if trail == nil && scope == nil { return [] }
        let secrets = sections.joined().map(\.name)
            .filter { Redaction.standard.hides(header: $0) }
        guard !secrets.isEmpty else { return [] }
        let mayGo =
            try scope?.reaches(request, in: context)
            ?? (trail ?? []).allSatisfy { before in
                request.origin.map(before.isSameOrUpgraded(by:)) ?? false
            }
        if mayGo { return [] }
        let place = request.origin?.description ?? "?"
        context.report(
            "leaves out fields with secrets, which must not go to \(place)", by: gate.gateName)
        return Set(secrets)
    }
}

extension GateFacts {
    func fields(from known: some Sequence<HTTPHeaders.Field>) -> HTTPHeaders {
        var names: Set<HTTPHeaders.Name> = []
        for case .setsFields(let set, _) in effects { names.formUnion(set) }
        return HTTPHeaders(
            known.filter { names.contains($0.name) }.map { ($0.name.description, $0.value) })
    }
}
