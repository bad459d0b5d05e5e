import Foundation
import TurnpikeCore
import TurnpikeMiddleware

/// Who asks, and what is stored for whom: the one place of the cache that decides it.
///
/// The cache is as many private caches as there are identities, in front of one that all share, as a
/// browser's stands in front of a proxy's:
///
/// | response | is found by |
/// |---|---|
/// | `private`, or a refusal (401, 403, 407), or with a `Set-Cookie` of its own, or with an `s-maxage` below its lifetime | requests of the same person |
/// | any other one, to a request with a credential, unless `public`, `s-maxage` or `must-revalidate` lets it be shared (RFC 9111 §3.5) | requests with the same credential |
/// | all else | everybody |
///
/// A credential is what ``CallerIdentity`` takes for one, and user information. The person is that
/// and the cookies: they tell people apart where a response is for one of them, and nothing where it
/// is not, or each visitor of a site would have a cache of their own. A tenant stands for both.
struct CacheIdentity: Sendable {
    /// What a response is.
    enum Audience {
        case person, credential, everybody
    }

    /// The partition of the credential; nil for a request without one.
    let credential: String?
    /// The partition of the person; nil for nobody that is known.
    let person: String?

    /// Reads a request.
    /// - Parameters:
    ///   - request: The request.
    ///   - tenant: What stands for all that the request tells.
    ///   - fields: More fields that are credentials.
    init(_ request: Request, tenant: String?, fields: Set<HTTPHeaders.Name>) {
        if let tenant {
            credential = Digest.text("tenant\0" + tenant)
            person = credential
            return
        }
        var proof = ""
        var cookies = ""
        for field in request.headers {
            switch fields.contains(field.name) ? .credential : CallerIdentity.part(field.name) {
            case .credential: proof += field.name.lowercased + "\n" + field.value + "\n"
            case .cookie: cookies += "cookie\n" + field.value + "\n"
            case nil: break
            }
        }
        if let user = CacheKey.userInformation(request.url.absoluteString) {
            proof += "user\n" + user + "\n"
        }
        credential = proof.isEmpty ? nil : Digest.text(proof)
        person = cookies.isEmpty ? credential : Digest.text(proof + cookies)
    }

    /// Whom a response to this identity is for.
    func audience(of control: CacheControl, isPersonal: Bool) -> Audience {
        if isPersonal { return .person }
        if credential == nil { return .everybody }
        // §3.5; an `s-maxage` that is too short has made it personal.
        let isShared = control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
        return isShared ? .everybody : .credential
    }

    /// Whether a response is for the one who asked alone, whoever that is.
    ///
    /// A refusal says what this one may not do. The header section is as it is stored: a
    /// `Set-Cookie` that is left there is part of the response. An `s-maxage` below the lifetime says
    /// that others must not have it for as long.
    static func isPersonal(
        _ status: HTTPStatus, _ control: CacheControl, _ map: FieldMap, lifetime: Double
    ) -> Bool {
        switch status.code {
        case 401, 403, 407: true
        default:
            control.isPrivate || map.contains(.setCookie)
                || control.sharedMaxAge.map { Double($0) < lifetime } ?? false
        }
    }
}
