// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Sessions with one exchange at a time, for requests that must not share a connection.
///
/// With HTTP/2, libcurl sends a request again in two cases: if libcurl considers the connection
/// dead, and if the server has announced the end of the connection (`GOAWAY`). Code outside libcurl
/// cannot prevent the second send. The two cases occur only if several exchanges share a
/// connection. An exchange with a separate session shares no connection, because each session has
/// its own connections.
struct URLSessionLanes<Session: AnyObject, Exchange> {
    enum Place {
        case free(Session)
        /// The exchange runs in a new session, which the caller creates; see ``occupy(_:for:)``.
        case new
        /// The exchange waits for a session.
        case inLine
    }

    // The idle sessions of each origin, in the order of their last use.
    private var idle: [Origin: [Session]] = [:]
    private var idleCount = 0
    private var occupied: [ObjectIdentifier: (session: Session, origin: Origin)] = [:]
    private var occupiedCount: [Origin: Int] = [:]
    private var line: [Origin: ArraySlice<Exchange>] = [:]
    private let maxPerOrigin: Int

    // The maximum number of idle sessions, each of which may hold a connection.
    private static var maxIdle: Int { 32 }

    init(maxPerOrigin: Int) { self.maxPerOrigin = max(maxPerOrigin, 1) }

    mutating func place(_ exchange: Exchange, for origin: Origin) -> Place {
        if let session = idle[origin]?.popLast() {
            idleCount -= 1
            if idle[origin]?.isEmpty == true { idle[origin] = nil }
            occupy(session, for: origin)
            return .free(session)
        }
        if occupiedCount[origin, default: 0] < maxPerOrigin { return .new }
        line[origin, default: []].append(exchange)
        return .inLine
    }

    mutating func occupy(_ session: Session, for origin: Origin) {
        occupied[ObjectIdentifier(session)] = (session, origin)
        occupiedCount[origin, default: 0] += 1
    }

    /// Releases a session whose exchange has ended.
    /// - Returns: The next exchange for this session, and a session to close.
    mutating func release(
        _ session: Session
    ) -> (next: Exchange?, surplus: Session?) {
        guard let origin = occupied[ObjectIdentifier(session)]?.origin else { return (nil, nil) }
        if let next = line[origin]?.popFirst() {
            if line[origin]?.isEmpty == true { line[origin] = nil }
            return (next, nil)
        }
        occupied[ObjectIdentifier(session)] = nil
        occupiedCount[origin] = occupiedCount[origin].flatMap { $0 > 1 ? $0 - 1 : nil }
        idle[origin, default: []].append(session)
        idleCount += 1
        return (nil, idleCount > Self.maxIdle ? removeSurplus(but: origin) : nil)
    }

    // Sessions of other origins are closed first, because this origin is in use.
    private mutating func removeSurplus(but origin: Origin) -> Session? {
        let key = idle.keys.first { $0 != origin } ?? origin
        guard let session = idle[key]?.removeFirst() else { return nil }
        if idle[key]?.isEmpty == true { idle[key] = nil }
        idleCount -= 1
        return session
    }

    mutating func removeAll() -> (sessions: [Session], inLine: [Exchange]) {
        defer { self = URLSessionLanes(maxPerOrigin: maxPerOrigin) }
        return (
            idle.values.flatMap(\.self) + occupied.values.map(\.session),
            line.values.flatMap(\.self)
        )
    }
}
