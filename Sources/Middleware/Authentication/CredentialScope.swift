import Synchronization
import TurnpikeCore

/// Decides whether a request may carry a gate's credential.
final class CredentialScope: Sendable {
    private let origins: CredentialOrigins
    // The one origin of a credential that names none, once it is known.
    private let own = Mutex<Origin?>(nil)

    init(_ origins: CredentialOrigins) { self.origins = origins }

    /// Whether a request may carry the credential, and has no credential already.
    ///
    /// A call that was at a foreign origin gets none, back at home either.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` where an origin is none.
    func admits(_ request: Request, in context: Context) throws -> Bool {
        if let fault = origins.fault { throw ClientError(.configuration, fault) }
        guard !request.headers.contains(.authorization), let origin = request.origin,
            covers(origin, in: context)
        else { return false }
        return context.call.record.hops.allSatisfy { hop in
            Origin(hop.url).map { covers($0, in: context) } ?? false
        }
    }

    /// Whether a response is an answer to the credential that a request carried.
    ///
    /// A redirect inside the gate may have led elsewhere.
    func covers(_ head: ResponseHead, to request: Request) -> Bool {
        Origin(head.url) == request.origin
    }

    private func covers(_ origin: Origin, in context: Context) -> Bool {
        if let listed = origins.listed { return listed.contains(origin) }
        return own.withLock { own in
            let bound = own ?? context.baseOrigin ?? origin
            own = bound
            return bound == origin
        }
    }
}
