// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Decides whether a request may carry the credential of a gate.
///
/// A gate that sends a credential creates a scope from its ``CredentialOrigins``.
public struct CredentialScope: Sendable {
    private let origins: CredentialOrigins
    private let own: OwnOrigin

    /// Creates a scope from origins.
    public init(_ origins: CredentialOrigins) {
        self.origins = origins
        own = origins.shared ?? OwnOrigin()
    }

    /// The listed origins, or nil if there is no list.
    public var listed: Set<Origin>? { origins.listed }

    /// Whether a request may carry the credential and does not carry a credential yet.
    ///
    /// After a redirect through a foreign origin, a request gets no credential, even at a listed
    /// origin.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if an entry of the list is not an
    ///   origin.
    public func admits(_ request: Request, in context: Context) throws -> Bool {
        try reaches(request, in: context) && !request.headers.contains(.authorization)
    }

    /// Whether a request goes to an allowed origin, and came through no other origin by redirects.
    func reaches(_ request: Request, in context: Context) throws -> Bool {
        if let fault = origins.fault { throw ClientError(.configuration, fault) }
        guard let origin = request.origin else { return false }
        // Only redirects of this request count, because other attempts may have other redirects.
        let trail = request.options[RedirectTrail.self] ?? []
        let allowed = origins.listed ?? bound(to: trail.first ?? origin, in: context)
        return allowed.contains(origin) && trail.allSatisfy(allowed.contains)
    }

    // Whether a request without redirects goes to one of the origins. The result is nil if the
    // origin of ``CredentialOrigins/own`` is not known yet.
    func mayReach(_ request: Request) -> Bool? {
        let known = origins.listed ?? own.value.withLock { $0.map { [$0] } }
        return known.map { known in request.origin.map(known.contains) ?? false }
    }

    /// The reason why a request gets no credential.
    ///
    /// The result is nil if the request gets a credential, or if the origin is not known yet.
    public func obstacle(to request: Request?) -> String? {
        guard let request else { return nil }
        if request.headers.contains(.authorization) {
            return "the request already has an Authorization field"
        }
        return mayReach(request) == false ? "the credential is not for this origin" : nil
    }

    /// Whether a response comes from the origin that received the request's credential.
    ///
    /// An inner redirect may lead to another origin.
    public func covers(_ head: ResponseHead, to request: Request) -> Bool {
        Origin(head.url) == request.origin
    }

    // The caller chooses the first origin of a call, and servers choose the origins of redirects.
    private func bound(to first: Origin, in context: Context) -> Set<Origin> {
        own.value.withLock { own in
            let known = own ?? context.baseOrigin ?? first
            own = known
            return [known]
        }
    }
}

extension Outcome {
    /// Returns the outcome of the inner gates and the transport.
    public static func of(_ request: Request, _ next: Next) async -> Outcome {
        do {
            return Outcome(request: request, result: .success(try await next(request)))
        } catch {
            return Outcome(request: request, result: .failure(error))
        }
    }

    /// Returns the outcome of the inner gates and the transport in a new attempt.
    public static func ofAttempt(_ request: Request, _ next: Next) async -> Outcome {
        do {
            return Outcome(request: request, result: .success(try await next.attempt(request)))
        } catch {
            return Outcome(request: request, result: .failure(error))
        }
    }
}

/// The only origins to which a gate may send a credential.
///
/// ```swift
/// .setHeaders(
///     ["X-API-Key": key], origins: ["https://api.example.com", "https://files.example.com"])
/// ```
///
/// If a redirect leads to an origin that is not listed, the call loses the credential. The call
/// gets no credential at later hops, even at a listed origin, because another server has chosen the
/// URL.
public struct CredentialOrigins: Sendable {
    let listed: Set<Origin>?
    let fault: String?
    // An object with which several gates share one origin. If nil, each gate has its own origin.
    let shared: OwnOrigin?

    private init(listed: Set<Origin>?, fault: String? = nil, shared: OwnOrigin? = nil) {
        self.listed = listed
        self.fault = fault
        self.shared = shared
    }

    /// The origin of the client's base URL.
    ///
    /// Without a base URL, the origin of the first request that passes through the gate.
    public static let own = CredentialOrigins(listed: nil)

    /// Returns ``own`` for several gates that share one origin.
    ///
    /// For example, if one stack replaces another stack, both gates have the same origin.
    public static func sharedOwn() -> CredentialOrigins {
        CredentialOrigins(listed: nil, shared: OwnOrigin())
    }

    /// Creates a list from texts such as `https://api.example.com` or `http://localhost:8080`.
    ///
    /// If a text is not an origin, calls fail with
    /// ``/TurnpikeCore/ClientError/Code/configuration``.
    public init(parsing texts: [String]) {
        var origins: Set<Origin> = []
        var fault: String?
        for (index, text) in texts.enumerated() {
            if let origin = Self.origin(text) {
                origins.insert(origin)
            } else {
                fault = fault ?? Self.fault(at: index)
            }
        }
        self.init(listed: origins, fault: fault)
    }

    /// Whether a text is an origin without a path, such as `https://api.example.com`.
    public static func isOrigin(_ text: String) -> Bool { origin(text) != nil }

    private static func origin(_ text: String) -> Origin? {
        guard let uri = URL(string: text).map({ TargetURI($0) }), uri.originForm == "/",
            uri.absoluteForm == uri.text
        else { return nil }
        return uri.origin
    }

    private static func fault(at index: Int) -> String {
        "origin \(index + 1) of a credential is not an origin; write only scheme, host and port, as"
            + " in https://api.example.com"
    }
}

/// The origin of ``CredentialOrigins/own``, which is set once.
final class OwnOrigin: Sendable {
    let value = Mutex<Origin?>(nil)
}

extension CredentialOrigins: ExpressibleByArrayLiteral {
    /// Creates a list from texts; see ``init(parsing:)``.
    public init(arrayLiteral elements: String...) { self.init(parsing: elements) }
}
