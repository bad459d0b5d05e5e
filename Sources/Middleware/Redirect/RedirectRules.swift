// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

struct RedirectRules: Sendable {
    let allowsDowngrade: Bool
    let sensitiveHeaders: [HTTPHeaders.Name]

    /// Returns the text of a valid `Location`, or nil if the response is not a redirect.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/redirect`` if there are several different lines.
    func location(of head: ResponseHead) throws -> String? {
        switch head.status {
        case .movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect: break
        default: return nil
        }
        // Several equal lines count as one line. Different values are a sign of response splitting,
        // because two clients may follow two values.
        let values = Set(head.headers.values(of: .location))
        if values.count > 1 {
            throw Self.refusal("the redirect has several different Location fields", head)
        }
        guard let value = values.first, !value.isEmpty else { return nil }
        return value
    }

    /// Returns the request for the next hop, or nil if the caller gets the redirecting response.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/redirect`` if the redirect must not be followed.
    func follow(
        _ request: Request, to location: String, because head: ResponseHead,
        upgrade: (@Sendable (Request) -> Request)?
    ) throws -> Request? {
        // An inner gate may have changed the URL of the request, for instance to https.
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
            if following.options[RepeatableByKey.self] == true {
                following.options[RepeatableByKey.self] = nil
                following.options[RetryableOption.self] = nil
            }
        }
        return following
    }

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

    // If an inner gate changed the request to https, the origin counts as unchanged, because the
    // https origin has the fields of the request already.
    private func isSame(_ from: Origin?, _ to: Origin?, answered: Origin?) -> Bool {
        if from == to { return true }
        guard let from, let to, to == answered else { return false }
        return from.isSameOrUpgraded(by: to)
    }

    // Whether a server that redirects with this status may have performed the request. The statuses
    // 307 and 308 mean that the server has not performed the request (RFC 9110 §15.4).
    static func mayHaveEffect(_ status: HTTPStatus) -> Bool {
        status != .temporaryRedirect && status != .permanentRedirect
    }

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

    // The content of a DELETE has no defined meaning (RFC 9110 §9.3.5). After 307 and 308, a client
    // must repeat the request unchanged. After 301 and 302, a client may change the request.
    private func dropsContent(_ status: HTTPStatus, _ method: HTTPMethod) -> Bool {
        switch status {
        case .movedPermanently, .found, .seeOther: method == .delete || status == .seeOther
        default: false
        }
    }

    private static func describesContent(_ name: HTTPHeaders.Name) -> Bool {
        let name = name.lowercased
        return name.hasPrefix("content-") || name == "expect" || name == "digest"
            || name == "repr-digest" || name == "transfer-encoding" || name == "trailer"
    }

    private func mayCrossOrigins(_ name: HTTPHeaders.Name) -> Bool {
        if sensitiveHeaders.contains(name) { return false }
        let name = name.lowercased
        return name == "accept" || name.hasPrefix("accept-") || name.hasPrefix("content-")
            // Without the key and the version, no server accepts a WebSocket (RFC 6455 §4.2.1).
            // `Sec-WebSocket-Protocol` may hold a token.
            || name == "sec-websocket-key" || name == "sec-websocket-version"
            || name == "sec-websocket-extensions"
            || name == "user-agent" || name == "traceparent" || name == "tracestate"
    }
}

/// The action of the gate for a redirect.
public enum RedirectDecision: Sendable {
    /// Follows the redirect as proposed.
    case follow
    /// Sends another request in place of the proposed request.
    ///
    /// The rules on schemes, downgrades and loops also apply to the other request. The caller is
    /// responsible for the header fields of the other request.
    case send(Request)
    /// Does not follow the redirect, and returns the redirecting response.
    case answer
    /// Fails the call with ``/TurnpikeCore/ClientError/Code/redirect`` and this message.
    case refuse(String)
}

extension Outcome {
    /// Whether a server may have performed the request before the server redirected the call.
    ///
    /// In this case, the status of the outcome, such as 401 or 408, is not about the request
    /// itself. A gate outside ``Redirect`` does not send this request again, except if the request
    /// is repeatable (``/TurnpikeCore/Request/isRepeatable``). A server that redirects with
    /// 307 or 308 has not performed the request (RFC 9110 §15.4).
    public func mayHaveEffect(in context: Context) -> Bool {
        let before = request.options[RedirectTrail.self]?.count ?? 0
        return context.hops.dropFirst(before).contains {
            RedirectRules.mayHaveEffect($0.status)
        }
    }
}

/// A redirect that the rules allow and that the gate may follow.
public struct RedirectProposal: Sendable {
    /// The request that was redirected.
    public let request: Request
    /// The proposed request, without the fields that the gate drops on a change of origin.
    public let following: Request
    /// The head of the redirecting response.
    public let response: ResponseHead
    /// The number of the hop, from 1.
    public let hop: Int

    /// Whether the redirect leads to another scheme, host or port.
    public var changesOrigin: Bool { request.origin != following.origin }
}

/// Reports of inner gates to a ``Redirect`` about a response.
struct RedirectHints: ContextKey {
    struct Value: Sendable {
        // The number of redirecting responses that changed a cookie jar. After a change of the jar,
        // the same URL may return another response.
        var jarChanges = 0
        /// Changes the URL of a request to https if the host requires TLS.
        var upgrade: (@Sendable (Request) -> Request)?
    }

    static var defaultValue: Value { Value() }
}

/// The origins of the earlier hops, oldest first.
///
/// ``Redirect`` sets this option on a request that follows a redirect. Inner gates use the option
/// to check which servers have redirected the call. Code that requests the URL of a `Location`
/// field sets the option too; ``Redirect`` adds the origins of further hops.
public enum RedirectTrail: RequestOptionKey {
    /// The origins of the earlier hops.
    public typealias Value = [Origin]
}

/// Whether the content of a request holds secrets that no other origin may get.
///
/// The gate refuses a redirect of a request with this option if the redirect leads to another
/// origin or would drop the content.
public enum OriginBoundOption: RequestOptionKey {
    /// True if the content holds secrets that no other origin may get.
    public typealias Value = Bool
}
