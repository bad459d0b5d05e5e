import Foundation
import TurnpikeCore

/// How long a stored response is good (RFC 9111 §4.2): worked out once, when it is stored.
///
/// Times are in seconds.
struct Freshness: Sendable {
    /// How long it is fresh, counted from its making.
    let lifetime: Double
    let isHeuristic: Bool
    /// How old it was when it came.
    let initialAge: Double
    let responseTime: Date
    let staleWhileRevalidate: Double
    let staleIfError: Double?
    let mustRevalidate: Bool
    let noCache: Bool
    let isImmutable: Bool
    let hasValidator: Bool
    /// Whether it is for the one who asked, and for nobody else (``CacheIdentity``).
    let isPersonal: Bool

    /// The part of the time since the last change for which a response without a lifetime is fresh
    /// (§4.2.2), and the most that comes of it.
    static let heuristicPart = 0.1
    static let heuristicLimit: Double = 7 * 86_400

    init(
        _ head: ResponseHead, _ control: CacheControl, _ map: FieldMap, requestTime: Date,
        responseTime: Date
    ) {
        let headers = head.headers
        // The date of a field that has one line; nil where there is none, or several.
        func dateValue(_ known: FieldMap.Known) -> Date? {
            map.only(known, in: headers).flatMap { FieldDate.parse($0, now: responseTime) }
        }
        let date = dateValue(.date)
        // §4.2.3; dates count whole seconds.
        let seconds = responseTime.timeIntervalSince1970.rounded(.down)
        let apparentAge = date.map { max(0, seconds - $0.timeIntervalSince1970) } ?? 0
        let delay = max(0, responseTime.timeIntervalSince(requestTime))
        initialAge = max(apparentAge, Self.ageValue(map.first(.age, in: headers)) + delay)
        self.responseTime = responseTime
        var isHeuristic = false
        if let maxAge = control.maxAge {
            lifetime = Double(maxAge)
        } else if map.contains(.expires) {
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
        isPersonal = CacheIdentity.isPersonal(head.status, control, map, lifetime: lifetime)
        staleWhileRevalidate = Double(control.staleWhileRevalidate ?? 0)
        staleIfError = control.staleIfError.map(Double.init)
        mustRevalidate = control.mustRevalidate
        noCache = control.noCache
        isImmutable = control.isImmutable
        hasValidator =
            headers.hasUnsendableValue
            ? Self.isSendable(map.first(.eTag, in: headers))
                || Self.isSendable(map.first(.lastModified, in: headers))
            : map.contains(.eTag) || map.contains(.lastModified)
    }

    /// A validator, unless it holds what no request may send back.
    static func validator(_ name: HTTPHeaders.Name, in headers: HTTPHeaders) -> String? {
        headers.first(name).flatMap { isSendable($0) ? $0 : nil }
    }

    private static func isSendable(_ value: String?) -> Bool {
        value.map { Grammar.firstIllegalValueByte($0) == nil } ?? false
    }

    /// How old the response is (§4.2.3).
    ///
    /// Of one that came later than now nobody can tell, since a clock was ahead or went back: it counts
    /// as older than anything allows.
    func age(at date: Date) -> Double {
        let resident = date.timeIntervalSince(responseTime)
        return resident >= 0 ? initialAge + resident : .infinity
    }

    /// How long it is still fresh; below zero, since when it is stale.
    func timeLeft(at date: Date) -> Double { lifetime - age(at: date) }

    /// Whether there is any use in keeping it.
    var isUseful: Bool {
        if hasValidator { return true }
        return !noCache
            && (lifetime > initialAge || staleWhileRevalidate > 0 || (staleIfError ?? 0) > 0)
    }

    // The first member of the first line, where it is a number (§5.1).
    private static func ageValue(_ line: String?) -> Double {
        guard let line, let member = line.split(separator: ",").first else {
            return 0
        }
        return Double(DeltaSeconds.parse(Grammar.trimmed(member)) ?? 0)
    }
}
