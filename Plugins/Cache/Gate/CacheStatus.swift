// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

enum CacheOutcome: String, CaseIterable {
    case hit
    case staleHit = "stale_hit"
    /// The cache used an entry after the origin had confirmed the entry.
    case validated
    case miss
    /// The store has entries for the URL, but no entry for the request's `Vary` fields.
    case variantMiss = "variant_miss"
    /// The cache validated a stale entry, and the origin sent another response.
    case stale
    /// The request does not allow the use of the entry.
    case refused
    /// The call did not use the store.
    case bypass
    case method

    /// The value of `fwd` in `Cache-Status` (RFC 9211 §2.2).
    var forwardReason: String {
        switch self {
        case .miss: "uri-miss"
        case .variantMiss: "vary-miss"
        case .refused: "request"
        case .bypass: "bypass"
        case .method: "method"
        case .hit, .staleHit, .validated, .stale: "stale"
        }
    }
}

enum CacheStatus {
    static let field: HTTPHeaders.Name = "Cache-Status"
    static let name = "Turnpike"

    static func hit(secondsLeft: Double) -> String { name + ";hit" + ttl(secondsLeft) }

    static func forwarded(
        _ reason: CacheOutcome, status: Int, isStored: Bool, isCollapsed: Bool
    ) -> String {
        name + ";fwd=" + reason.forwardReason
            + (reason == .stale ? ";fwd-status=\(status)" : "")
            + (isStored ? ";stored" : "") + (isCollapsed ? ";collapsed" : "")
    }

    static func validated(
        _ reason: CacheOutcome, secondsLeft: Double, isCollapsed: Bool
    ) -> String {
        name + ";fwd=" + reason.forwardReason + ";fwd-status=304" + ttl(secondsLeft)
            + (isCollapsed ? ";collapsed" : "")
    }

    static func staleOnError(_ status: Int?, secondsLeft: Double) -> String {
        name + ";fwd=stale" + (status.map { ";fwd-status=\($0)" } ?? "") + ttl(secondsLeft)
            + ";detail=stale-if-error"
    }

    private static func ttl(_ seconds: Double) -> String {
        let bound = Double(DeltaSeconds.longest)
        return ";ttl=\(Int64(min(max(seconds.rounded(.down), -bound), bound)))"
    }
}
