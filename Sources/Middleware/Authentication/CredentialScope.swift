import Synchronization
import TurnpikeCore

/// Decides whether a request may carry a gate's credential.
final class CredentialScope: Sendable {
    private let origins: CredentialOrigins
    // The one origin of a credential that names none, once it is known.
    private let own = Mutex<Set<Origin>>([])

    init(_ origins: CredentialOrigins) { self.origins = origins }

    /// Whether a request may carry the credential, and has no credential already.
    ///
    /// A request that a redirect led to through a foreign origin gets none, back at home either.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` where an origin is none.
    func admits(_ request: Request, in context: Context) throws -> Bool {
        try reaches(request, in: context) && !request.headers.contains(.authorization)
    }

    /// Whether a request goes to one of the origins, and was at no other.
    func reaches(_ request: Request, in context: Context) throws -> Bool {
        if let fault = origins.fault { throw ClientError(.configuration, fault) }
        guard let origin = request.origin else { return false }
        // Of this request alone: another attempt of the call may have been led elsewhere.
        let trail = request.options[RedirectTrail.self] ?? []
        let allowed = origins.listed ?? bound(to: trail.first ?? origin, in: context)
        return allowed.contains(origin) && trail.allSatisfy(allowed.contains)
    }

    /// Whether a response is an answer to the credential that a request carried.
    ///
    /// A redirect inside the gate may have led elsewhere.
    func covers(_ head: ResponseHead, to request: Request) -> Bool {
        Origin(head.url) == request.origin
    }

    // Where a call begins is its caller's choice; where a redirect leads is not.
    private func bound(to first: Origin, in context: Context) -> Set<Origin> {
        own.withLock { own in
            if own.isEmpty { own = [context.baseOrigin ?? first] }
            return own
        }
    }
}
