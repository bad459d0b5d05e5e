// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The HTTP/3 offers of a bounded number of origins at their own host and port (RFC 7838).
final class AlternativeServices: Sendable {
    private enum Entry: BoundedMapEntry {
        case none
        case offered(until: MonotonicInstant)
        /// HTTP/3 has failed. Offers have no effect until this time.
        case failed(until: MonotonicInstant)

        var isInUse: Bool { false }
    }

    private let entries = Mutex(BoundedMap<Origin, Entry>())

    /// The time for which TCP is used after a failure, as in Chromium after a first failure.
    static let failureTime: Duration = .seconds(300)
    // The default is from RFC 7838 §3.1.
    private static let defaultAge: Int64 = 86_400
    // The limit is a year, because longer times could overflow.
    private static let maxAge: Int64 = 31_536_000

    func offersHTTP3(_ origin: Origin, at now: MonotonicInstant) -> Bool {
        entries.withLock { entries in
            guard case .offered(let end)? = entries[origin] else { return false }
            return now < end
        }
    }

    // Records the offer in a response of an origin. A new field replaces all earlier fields.
    func note(_ head: ResponseHead, of origin: Origin, at now: MonotonicInstant) {
        // A 421 invalidates the offer (RFC 7838 §6).
        if head.status == 421, head.version == "3" { return noteFailure(of: origin, at: now) }
        let values = head.headers.values(of: "Alt-Svc")
        if values.isEmpty { return }
        let received = max(0, Int64(head.headers[.age] ?? "") ?? 0)
        let age = values.compactMap { Self.age(of: $0, origin) }.first.map { $0 - received } ?? 0
        entries.withLock { entries in
            // Only an origin with an offer is stored.
            guard age > 0 || entries[origin] != nil else { return }
            entries.update(origin, orMake: .none) { entry in
                if case .failed(let end) = entry, now < end { return }
                entry = age > 0 ? .offered(until: now.advanced(by: .seconds(age))) : .none
            }
        }
    }

    /// Records that HTTP/3 has failed, or was slower than the delayed TCP.
    func noteFailure(of origin: Origin, at now: MonotonicInstant) {
        let end = now.advanced(by: Self.failureTime)
        entries.withLock { $0.update(origin, orMake: .none) { $0 = .failed(until: end) } }
    }

    /// Returns the validity in seconds of an HTTP/3 offer at the origin itself, or nil.
    static func age(of value: String, _ origin: Origin) -> Int64? {
        for alternative in Grammar.split(value[...], at: UInt8(ascii: ",")) {
            let parts = Grammar.split(alternative, at: UInt8(ascii: ";"))
                .map { Grammar.trimmed($0) }
            let place = parts[0].hasPrefix("h3=") ? Grammar.unquoted(parts[0].dropFirst(3)) : ""
            guard let colon = place.lastIndex(of: ":"), isSame(place[..<colon], origin.host),
                Int(place[place.index(after: colon)...]) == origin.port
            else { continue }
            let age = parts.dropFirst().first { $0.hasPrefix("ma=") }
            guard let age else { return defaultAge }
            let digits = Grammar.unquoted(age.dropFirst(3))
            guard !digits.isEmpty, digits.utf8.allSatisfy(Grammar.isDigit) else { continue }
            return min(Int64(digits) ?? maxAge, maxAge)
        }
        return nil
    }

    // An empty host means the host of the origin.
    private static func isSame(_ host: Substring, _ own: String) -> Bool {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let bare = isBracketed ? host.dropFirst().dropLast() : host
        return host.isEmpty || Grammar.equalsIgnoringCase(String(bare), own)
    }
}

/// An origin that has offered HTTP/3 and whose requests use HTTP/3.
struct AlternativeOrigin: Sendable {
    let origin: Origin
    let services: AlternativeServices
    let timeSource: any TimeSource

    func noteFailure() { services.noteFailure(of: origin, at: timeSource.now) }

    func noteFailure(_ error: any Error) {
        switch (error as? ClientError)?.code {
        case .connection, .connectTimeout, .tls, .protocol, .incomplete, .deadlineExceeded,
            .attemptTimeout, .idleTimeout:
            noteFailure()
        default: break
        }
    }
}
