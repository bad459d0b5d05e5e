// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Whether a stored response answers a request without asking its origin (RFC 9111 §4).
enum Usability: Equatable {
    case fresh
    /// Stale, and the request takes it so (`max-stale`).
    case staleAccepted
    /// Stale, and used while it is validated in the background (RFC 5861 §3).
    case staleWhileRevalidate
    /// The origin must be asked, because the response is stale.
    case stale
    /// The origin must be asked, because the request says so.
    case refused

    init(_ freshness: Freshness, for request: CacheControl, at date: Date) {
        let age = freshness.age(at: date)
        let left = freshness.lifetime - age
        if request.noCache {
            self = .refused
        } else if freshness.noCache {
            self = .stale
        } else if left > 0 {
            self = Self.accepts(age, left, freshness, request) ? .fresh : .refused
        } else if freshness.mustRevalidate {
            self = .stale
        } else if let maxStale = request.maxStale, -left <= Double(maxStale),
            request.maxAge.map({ age <= Double($0) }) ?? true
        {
            self = .staleAccepted
        } else if freshness.staleWhileRevalidate > -left, request.maxAge == nil,
            request.minFresh == nil, request.maxStale == nil
        {
            self = .staleWhileRevalidate
        } else {
            self = .stale
        }
    }

    // The request's own bounds (§5.2.1). A reload does not ask again for a response that is immutable
    // while it is fresh (RFC 8246 §2).
    private static func accepts(
        _ age: Double, _ left: Double, _ freshness: Freshness, _ request: CacheControl
    ) -> Bool {
        if let minFresh = request.minFresh, left < Double(minFresh) { return false }
        guard let maxAge = request.maxAge, !freshness.isImmutable else { return true }
        return maxAge > 0 && age <= Double(maxAge)
    }
}
