// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// The effect of a redirecting response on a request.
struct RedirectRules: Sendable {
    let allowsDowngrade: Bool
    let sensitiveHeaders: [HTTPHeaders.Name]

    /// The text of a usable `Location`, or nil if the response is not a redirect to follow.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/redirect`` if there are several different lines.
    func location(of head: ResponseHead) throws -> String? {
        switch head.status {
        case .movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect: break
        default: return nil
        }
        // Several equal lines count as one. Different lines are a sign of response splitting, and
        // clients would follow different lines.
        let values = Set(head.headers.values(of: .location))
        if values.count > 1 {
            throw Self.refusal("the redirect has several different Location fields", head)
        }
        guard let value = values.first, !value.isEmpty else { return nil }
        return value
    }

    /// The request for the next hop, or nil if the caller gets the redirecting response.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/redirect`` if the redirect must not be followed.
    func follow(
        _ request: Request, to location: String, because head: ResponseHead,
        upgrade: (@Sendable (Request) -> Request)?
    ) throws -> Request? {
        // A gate inside may have sent the request elsewhere, for instance to https.
        let answered = Origin(head.url)
        let base = answered == request.origin ? request.targetURI : TargetURI(head.url)
        guard let target = TargetURI(reference: location, relativeTo: base) else {
            throw Self.refusal("the redirect's Location is not a URL", head)
        }
        var following = request
        following.targetURI = target.withoutUserInformation.redirected(from: base)
        if let upgrade { following = upgrade(following) }
        try check(following, after: request, head)
        let method = method(after: head.status, request.method)
        if method != request.method || dropsContent(head.status, request.method) {
            following.method = method
            following.body = .empty
            following.headers.removeAll { Self.describesContent($0.name) }
        } else if !request.body.isReplayable {
            return nil
        }
        if !isSame(request.origin, following.origin, answered: answered) {
            following.headers.removeAll { !mayCrossOrigins($0.name) }
            // The connect target belongs to the old origin.
            following.options.connectTarget = nil
        }
        return following
    }

    /// Refuses targets that are forbidden for all redirects.
    func check(_ following: Request, after request: Request, _ head: ResponseHead) throws {
        if let fault = following.fault {
            throw Self.refusal("the redirect's target is invalid: \(fault)", head)
        }
        guard let to = following.origin else {
            throw Self.refusal("the redirect's target is neither http nor https", head)
        }
        let wasSecure = [request.origin?.scheme, Origin(head.url)?.scheme].contains("https")
        if wasSecure, to.scheme == "http", !allowsDowngrade {
            throw Self.refusal("the redirect leads from https to http", head)
        }
    }

    // An upgrade to https by a gate inside is not a change of origin, because the fields of the
    // request already went to that origin.
    private func isSame(_ from: Origin?, _ to: Origin?, answered: Origin?) -> Bool {
        if from == to { return true }
        guard let from, let to, to == answered else { return false }
        return from.isSameOrUpgraded(by: to)
    }

    /// Whether a server that redirects with a status may have performed the request.
    ///
    /// True for every status but 307 and 308, which ask for the same request elsewhere (RFC 9110
    /// §15.4).
    static func mayHaveEffect(_ status: HTTPStatus) -> Bool {
        status != .temporaryRedirect && status != .permanentRedirect
    }

    /// Identifies a hop, so that loops are found.
    static func key(_ request: Request) -> String {
        request.method.rawValue + " " + request.targetURI.text
    }

    static func refusal(_ message: String, _ head: ResponseHead) -> ClientError {
        ClientError(
            .redirect, message + "; the redirect was not followed", response: head,
            transfer: TransferState(.receiving))
    }

    private func method(after status: HTTPStatus, _ method: HTTPMethod) -> HTTPMethod {
        switch status {
        case .movedPermanently, .found: method == .post ? .get : method
        case .seeOther: method == .head ? .head : .get
        default: method
        }
    }

    // Content of a DELETE has no defined meaning (RFC 9110 §9.3.5). 307 and 308 promise that the
    // message is repeated unchanged; 301 and 302 do not.
    private func dropsContent(_ status: HTTPStatus, _ method: HTTPMethod) -> Bool {
        switch status {
        case .movedPermanently, .found, .seeOther: method == .delete || status == .seeOther
        default: false
        }
    }

    private static func describesContent(_ name: HTTPHeaders.Name) -> Bool {
        let name = name.lowercased
        return name.hasPrefix("content-") || name == "expect" || name == "digest"
            || name == "transfer-encoding" || name == "trailer"
    }

    private func mayCrossOrigins(_ name: HTTPHeaders.Name) -> Bool {
        if sensitiveHeaders.contains(name) { return false }
        let name = name.lowercased
        return name == "accept" || name.hasPrefix("accept-") || name.hasPrefix("content-")
            || name == "user-agent" || name == "traceparent" || name == "tracestate"
    }
}

/// How a redirect is handled.
public enum RedirectDecision: Sendable {
    /// Follow it as proposed.
    case follow
    /// Send another request in its place.
    ///
    /// The rules on schemes, downgrades and loops apply to that request too. Its header fields
    /// are the caller's responsibility.
    case send(Request)
    /// Do not follow the redirect; return the redirecting response.
    case answer
    /// Fail the call as ``/TurnpikeCore/ClientError/Code/redirect``, with this message.
    case refuse(String)
}

/// A redirect that the rules allow, before it is followed.
public struct RedirectProposal: Sendable {
    /// The request that was redirected.
    public let request: Request
    /// The request that would follow, without the fields that are dropped on the way.
    public let following: Request
    /// The head of the redirecting response.
    public let response: ResponseHead
    /// The number of the hop, from 1.
    public let hop: Int

    /// Whether the redirect leads to another scheme, host or port.
    public var changesOrigin: Bool { request.origin != following.origin }
}

/// The facts about a response that gates inside a redirect report to the redirect.
struct RedirectHints: ContextKey {
    struct Value: Sendable {
        /// How often a cookie jar changed with a redirecting response.
        ///
        /// After a change, the same URL may respond differently.
        var jarChanges = 0
        /// Upgrades a URL whose host requires TLS.
        var upgrade: (@Sendable (Request) -> Request)?
    }

    static var defaultValue: Value { Value() }
}

/// The origins of the hops before the current one, oldest first.
///
/// ``Redirect`` sets it on requests that follow a redirect, for inner gates that check where a
/// request comes from. Code that requests a URL of a response's `Location` sets it too, and
/// ``Redirect`` adds its hops.
public enum RedirectTrail: RequestOptionKey {
    /// The origins.
    public typealias Value = [Origin]
}

/// Whether the content of a request holds secrets that only its origin may get.
///
/// A redirect of such a request is refused if it leads to another origin, or would drop the
/// content.
public enum OriginBoundOption: RequestOptionKey {
    /// Whether it does.
    public typealias Value = Bool
}
