// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Decides who the caller is, and which callers may get a response; no other type decides this.
///
/// Each caller has a private cache in front of a shared one, like a browser behind a proxy:
///
/// | response | is found by |
/// |---|---|
/// | `private`, or a refusal (401, 403, 407), or with a `Set-Cookie` of its own, or with an `s-maxage` below its lifetime | requests of the same person |
/// | any other, to a request with a credential, unless `public`, `s-maxage` or `must-revalidate` lets it be shared (RFC 9111 §3.5) | requests with the same credential |
/// | all else | everybody |
///
/// A credential is a field that ``CallerIdentity`` counts as one, or user information in the URL.
/// Credential and cookies together identify a person. Cookies count only for responses to one
/// person; otherwise each visitor of a site would have a separate cache. A tenant replaces
/// credential and cookies.
///
/// The table applies within one partition (``CachePartition``).
struct CacheIdentity: Sendable {
    enum Audience {
        case person, credential, everybody
    }

    let everybody: String
    /// The partition of the credential; nil for a request without a credential.
    let credential: String?
    /// The partition of the person; nil if the request has neither credential nor cookie.
    let person: String?

    // Reads the identity from a request. A tenant replaces that identity.
    init(
        _ request: Request, in partition: String, tenant: String?, fields: Set<HTTPHeaders.Name>
    ) {
        everybody = partition
        if let tenant {
            credential = Digest.text(partition + "\0tenant\0" + tenant)
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
        if let user = request.targetURI.userInformation {
            proof += "user\n" + user + "\n"
        }
        credential = proof.isEmpty ? nil : Digest.text(partition + "\n" + proof)
        person = cookies.isEmpty ? credential : Digest.text(partition + "\n" + proof + cookies)
    }

    func audience(of control: CacheControl, isPersonal: Bool) -> Audience {
        if isPersonal { return .person }
        if credential == nil { return .everybody }
        // §3.5. If `s-maxage` is below the lifetime, the response is personal.
        let isShared = control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
        return isShared ? .everybody : .credential
    }

    /// Whether a response is only for the person who sent the request.
    ///
    /// A refusal is for this person only. A `Set-Cookie` in the stored form of the head is part of
    /// the response. If `s-maxage` is below the lifetime, other callers must not use the response
    /// as long.
    static func isPersonal(
        _ head: ResponseHead, _ control: CacheControl, lifetime: Double
    ) -> Bool {
        switch head.status.code {
        case 401, 403, 407: true
        default:
            control.isPrivate || head.headers.contains(.setCookie)
                || control.sharedMaxAge.map { Double($0) < lifetime } ?? false
        }
    }
}

enum CachePartition {
    /// Each client has its own part if a gate or the transport may prove its identity. Other
    /// clients share one part.
    case unnamed
    /// Caches with the same name share this part.
    case named(String)
    /// The name is empty, so it is unknown whose responses the store contains.
    case missing

    init(_ name: String?) {
        guard let name = name.map({ Grammar.trimmed($0) }) else {
            self = .unnamed
            return
        }
        self = name.isEmpty ? .missing : .named(Digest.text("partition\0" + name))
    }

    func name(for call: CallID, _ next: Next) -> String? {
        switch self {
        case .unnamed:
            // A new stack may prove another identity.
            next.provesClient
                ? "client " + String(call.client, radix: 16) + "-\(next.generation)" : "anyone"
        case .named(let name): name
        case .missing: nil
        }
    }

    var isMissing: Bool { if case .missing = self { true } else { false } }
}
