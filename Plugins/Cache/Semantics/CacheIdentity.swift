// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Identifies the caller; no other type decides which callers may get a response.
///
/// Each caller has a private cache in front of a shared cache, like a browser behind a proxy:
///
/// | response | is found by |
/// |---|---|
/// | `private`, or a refusal (401, 403, 407), or with a `Set-Cookie` of its own, or with an `s-maxage` below its lifetime | requests of the same person |
/// | any other, to a request with a credential, unless `public`, `s-maxage` or `must-revalidate` lets it be shared (RFC 9111 §3.5) | requests with the same credential |
/// | all else | everybody |
///
/// A credential is a header field that ``CallerIdentity`` regards as a credential, or user
/// information in the URL. Credential and cookies together identify a person. Cookies are used only
/// for responses to one person, because each visitor of a site may have different cookies. A tenant
/// replaces credential and cookies.
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

    // Reads the identity from a request. A tenant replaces the identity in the request.
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
        // The rule is in RFC 9111 §3.5. If `s-maxage` is below the lifetime, `isPersonal` is true.
        let isShared = control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
        return isShared ? .everybody : .credential
    }

    /// Whether a response is only for the person who sent the request.
    ///
    /// A 401, 403 or 407 is only for this person. A `Set-Cookie` in the stored head is part of the
    /// response. An `s-maxage` below the lifetime limits only other callers.
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
    /// If a gate or the transport may prove a client's identity, the client has its own partition.
    /// All other clients share one partition.
    case unnamed
    /// Caches with the same name share this partition.
    case named(String)
    /// The name is empty. The users of the stored responses are unknown.
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
            // After a change of the stack, the client may prove another identity.
            next.provesClient
                ? "client " + String(call.client, radix: 16) + "-\(next.generation)" : "anyone"
        case .named(let name): name
        case .missing: nil
        }
    }

    var isMissing: Bool { if case .missing = self { true } else { false } }
}
