// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The freshness of a stored response, in seconds (RFC 9111 §4.2).
struct Freshness: Sendable {
    /// The freshness lifetime, which starts when the origin creates the response.
    let lifetime: Double
    let isHeuristic: Bool
    /// The age of the response at its arrival.
    let initialAge: Double
    let responseTime: Date
    let staleWhileRevalidate: Double
    let staleIfError: Double?
    let mustRevalidate: Bool
    let noCache: Bool
    let isImmutable: Bool
    let hasValidator: Bool
    /// Whether the response is only for the person who sent the request (``CacheIdentity``).
    let isPersonal: Bool

    /// The heuristic lifetime of a response without a lifetime, as a part of the time since the
    /// last change (RFC 9111 §4.2.2).
    static let heuristicPart = 0.1
    static let heuristicLimit: Double = 7 * 86_400

    init(
        _ head: ResponseHead, _ control: CacheControl, requestTime: Date, responseTime: Date
    ) {
        let headers = head.headers
        // Returns nil if the field has no line or several lines.
        func dateValue(_ name: HTTPHeaders.Name) -> Date? {
            let lines = headers.values(of: name)
            return lines.count == 1 ? HTTPDate.parse(lines[0], now: responseTime) : nil
        }
        let date = dateValue(.date)
        // The formula is in RFC 9111 §4.2.3. HTTP dates have whole seconds.
        let seconds = responseTime.timeIntervalSince1970.rounded(.down)
        let apparentAge = date.map { max(0, seconds - $0.timeIntervalSince1970) } ?? 0
        let delay = max(0, responseTime.timeIntervalSince(requestTime))
        initialAge = max(apparentAge, Self.ageValue(headers.first(.age)) + delay)
        self.responseTime = responseTime
        var isHeuristic = false
        if let maxAge = control.maxAge {
            lifetime = Double(maxAge)
        } else if headers.contains(.expires) {
            let expires = dateValue(.expires)
            lifetime = expires.map { max(0, $0.timeIntervalSince(date ?? responseTime)) } ?? 0
        } else if Storability.isHeuristic(head.status) || control.isPublic,
            let changed = dateValue(.lastModified)
        {
            isHeuristic = true
            let rest = (date ?? responseTime).timeIntervalSince(changed)
            lifetime = min(max(0, rest * Self.heuristicPart), Self.heuristicLimit)
        } else {
            lifetime = 0
        }
        self.isHeuristic = isHeuristic
        isPersonal = CacheIdentity.isPersonal(head, control, lifetime: lifetime)
        staleWhileRevalidate = Double(control.staleWhileRevalidate ?? 0)
        staleIfError = control.staleIfError.map(Double.init)
        mustRevalidate = control.mustRevalidate
        noCache = control.noCache
        isImmutable = control.isImmutable
        hasValidator =
            Self.validator(.eTag, in: headers) != nil
            || Self.validator(.lastModified, in: headers) != nil
    }

    /// Returns a validator, or nil if the value contains bytes that a request must not contain.
    static func validator(_ name: HTTPHeaders.Name, in headers: HTTPHeaders) -> String? {
        headers.first(name).flatMap { Grammar.firstIllegalValueByte($0) == nil ? $0 : nil }
    }

    /// Returns the age of the response (RFC 9111 §4.2.3).
    ///
    /// If the response time is in the future, a clock was wrong and the age is infinite. The clocks
    /// of replicas with one store may differ by ``clockTolerance``.
    func age(at date: Date) -> Double {
        let resident = date.timeIntervalSince(responseTime)
        return resident >= -Self.clockTolerance ? initialAge + max(resident, 0) : .infinity
    }

    /// The rest of the lifetime; negative for a stale response.
    func timeLeft(at date: Date) -> Double { lifetime - age(at: date) }

    static let clockTolerance = 2.0

    var isUseful: Bool {
        if hasValidator { return true }
        return !noCache
            && (lifetime > initialAge || staleWhileRevalidate > 0 || (staleIfError ?? 0) > 0)
    }

    // The first member of the first line (RFC 9111 §5.1), or 0 if this member is not a number.
    private static func ageValue(_ line: String?) -> Double {
        guard let line, let member = line.split(separator: ",").first else {
            return 0
        }
        return Double(DeltaSeconds.parse(Grammar.trimmed(member)) ?? 0)
    }
}

/// Whether a stored response answers a request without a request to the origin (RFC 9111 §4).
enum Usability: Equatable {
    case fresh
    /// The response is stale, and the request accepts stale responses (`max-stale`).
    case staleAccepted
    /// The stale response is used while a background call validates the response (RFC 5861 §3).
    case staleWhileRevalidate
    case stale
    /// The request needs an answer of the origin.
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

    // Checks the request's directives (RFC 9111 §5.2.1). A reload of a fresh immutable response
    // sends no request to the origin (RFC 8246 §2).
    private static func accepts(
        _ age: Double, _ left: Double, _ freshness: Freshness, _ request: CacheControl
    ) -> Bool {
        if let minFresh = request.minFresh, left < Double(minFresh) { return false }
        guard let maxAge = request.maxAge, !freshness.isImmutable else { return true }
        return maxAge > 0 && age <= Double(maxAge)
    }
}
