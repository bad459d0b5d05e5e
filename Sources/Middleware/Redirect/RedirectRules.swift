import Foundation
import TurnpikeCore

/// What a redirecting response means for a request.
struct RedirectRules: Sendable {
    let allowsDowngrade: Bool
    let sensitiveHeaders: [HTTPHeaders.Name]

    /// The text of a usable `Location`, or nil where the response is no redirect to follow.
    func location(of head: ResponseHead) -> String? {
        switch head.status {
        case .movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect: break
        default: return nil
        }
        // Several equal lines are one; a transport may have joined them.
        let values = Set(head.headers.values(of: .location))
        guard values.count == 1, let value = values.first, !value.isEmpty else { return nil }
        return value
    }

    /// The request for the next hop, or nil where the redirecting response is the answer.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/redirect`` where the redirect must not be
    ///   followed.
    func follow(
        _ request: Request, to location: String, because head: ResponseHead,
        upgrade: (@Sendable (Request) -> Request)?
    ) throws -> Request? {
        // A gate inside may have sent the request elsewhere, to https for instance.
        let answered = Origin(head.url)
        let base = answered == request.origin ? request.url : head.url
        var following = request
        following.url = try resolve(location, against: base, head)
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
        }
        return following
    }

    /// Refuses what no redirect may lead to.
    func check(_ following: Request, after request: Request, _ head: ResponseHead) throws {
        if let fault = following.fault {
            throw Self.refusal("the redirect leads nowhere: \(fault)", head)
        }
        guard let to = following.origin else {
            throw Self.refusal("the redirect leads to something other than http or https", head)
        }
        let wasSecure = [request.origin?.scheme, Origin(head.url)?.scheme].contains("https")
        if wasSecure, to.scheme == "http", !allowsDowngrade {
            throw Self.refusal("the redirect leads from https to http", head)
        }
    }

    // An upgrade to https that a gate inside has made already is no change: what the request
    // carries went there before.
    private func isSame(_ from: Origin?, _ to: Origin?, answered: Origin?) -> Bool {
        if from == to { return true }
        guard let from, let to, to == answered else { return false }
        return from.isSameOrUpgraded(by: to)
    }

    /// Whether a server that redirects so may have done what the request asked: all may but 307 and
    /// 308, which want the same request elsewhere (RFC 9110 §15.4).
    static func mayHaveEffect(_ status: HTTPStatus) -> Bool {
        status != .temporaryRedirect && status != .permanentRedirect
    }

    /// What tells whether two hops are the same.
    static func key(_ request: Request) -> String {
        request.method.rawValue + " " + request.url.absoluteString
    }

    static func refusal(_ message: String, _ head: ResponseHead) -> ClientError {
        ClientError(
            .redirect, message + "; it was not followed", response: head,
            transfer: TransferState(.receiving))
    }

    private func resolve(_ location: String, against base: URL, _ head: ResponseHead) throws -> URL
    {
        guard let url = URL(reference: location, relativeTo: base)?.absoluteURL,
            var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { throw Self.refusal("the redirect's Location is no URL", head) }
        components.user = nil
        components.password = nil
        components.scheme = components.scheme?.lowercased()
        // The fragment is inherited (RFC 9110 §10.2.2).
        if components.fragment == nil { components.fragment = base.fragment }
        guard let bare = components.url else {
            throw Self.refusal("the redirect's Location is no URL", head)
        }
        return bare
    }

    private func method(after status: HTTPStatus, _ method: HTTPMethod) -> HTTPMethod {
        switch status {
        case .movedPermanently, .found: method == .post ? .get : method
        case .seeOther: method == .head ? .head : .get
        default: method
        }
    }

    // Content of a DELETE has no meaning of its own (RFC 9110 §9.3.5), and 301 and 302 do not
    // promise that the message is repeated as it was, as 307 and 308 do.
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
