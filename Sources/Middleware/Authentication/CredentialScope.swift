// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore

/// Decides whether a request may carry a gate's credential.
struct CredentialScope: Sendable {
    private let origins: CredentialOrigins
    private let own: CredentialOrigins.Own

    init(_ origins: CredentialOrigins) {
        self.origins = origins
        own = origins.shared ?? CredentialOrigins.Own()
    }

    /// The origins, if they are listed.
    var listed: Set<Origin>? { origins.listed }

    /// Whether a request may carry the credential, and has no credential of its own.
    ///
    /// A request that was redirected through a foreign origin gets none, even back at a listed
    /// origin.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if a listed text is not an
    ///   origin.
    func admits(_ request: Request, in context: Context) throws -> Bool {
        try reaches(request, in: context) && !request.headers.contains(.authorization)
    }

    /// Whether a request goes to one of the origins, and no redirect led it through another origin.
    func reaches(_ request: Request, in context: Context) throws -> Bool {
        if let fault = origins.fault { throw ClientError(.configuration, fault) }
        guard let origin = request.origin else { return false }
        // Only the trail of this request counts: another attempt of the call may have been led
        // elsewhere.
        let trail = request.options[RedirectTrail.self] ?? []
        let allowed = origins.listed ?? bound(to: trail.first ?? origin, in: context)
        return allowed.contains(origin) && trail.allSatisfy(allowed.contains)
    }

    /// Whether a request that was not redirected goes to one of the origins; nil if only the client
    /// knows.
    func mayReach(_ request: Request) -> Bool? {
        let known = origins.listed ?? own.origin.withLock { $0.map { [$0] } }
        return known.map { known in request.origin.map(known.contains) ?? false }
    }

    /// Why a request gets no credential; nil if it gets one, or if only the client knows.
    func obstacle(to request: Request?) -> String? {
        guard let request else { return nil }
        if request.headers.contains(.authorization) {
            return "the request has an Authorization of its own"
        }
        return mayReach(request) == false ? "the credential is not for this origin" : nil
    }

    /// Whether a response answers the credential that a request carried.
    ///
    /// A redirect inside the gate may have led to another origin.
    func covers(_ head: ResponseHead, to request: Request) -> Bool {
        Origin(head.url) == request.origin
    }

    // The caller chooses where a call begins, but not where a redirect leads.
    private func bound(to first: Origin, in context: Context) -> Set<Origin> {
        own.origin.withLock { own in
            let known = own ?? context.baseOrigin ?? first
            own = known
            return [known]
        }
    }
}
