/// Sessions with one exchange each at a time, for requests that must not share their connection.
///
/// Over HTTP/2 libcurl sends a request again whose connection it takes for dead, or which a server
/// has said that it will close (`GOAWAY`), and nothing outside of libcurl can keep it from doing so.
/// Both happen where several exchanges share a connection. A session has connections of its own, so
/// an exchange that has a session to itself shares none.
package struct URLSessionLanes<Session: AnyObject, Exchange> {
    /// Where an exchange runs.
    package enum Place {
        /// A session that is free.
        case free(Session)
        /// There may be one more session; see ``occupy(_:for:)``.
        case new
        /// The exchange stands in line.
        case inLine
    }

    // Those of one origin, the latest used last.
    private var idle: [Origin: [Session]] = [:]
    private var idleCount = 0
    private var occupied: [ObjectIdentifier: (session: Session, origin: Origin)] = [:]
    private var occupiedCount: [Origin: Int] = [:]
    private var line: [Origin: ArraySlice<Exchange>] = [:]
    private let maxPerOrigin: Int

    // How many sessions, and so connections, are kept for later.
    private static var maxIdle: Int { 32 }

    package init(maxPerOrigin: Int) { self.maxPerOrigin = max(maxPerOrigin, 1) }

    /// Finds a place for an exchange.
    package mutating func place(_ exchange: Exchange, for origin: Origin) -> Place {
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

    /// Counts a session as busy.
    package mutating func occupy(_ session: Session, for origin: Origin) {
        occupied[ObjectIdentifier(session)] = (session, origin)
        occupiedCount[origin, default: 0] += 1
    }

    /// Takes back a session whose exchange has ended.
    /// - Returns: The exchange that comes next in it, and a session that is not kept.
    package mutating func release(
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

    // Of another origin, if there is one: this one is in use.
    private mutating func removeSurplus(but origin: Origin) -> Session? {
        let key = idle.keys.first { $0 != origin } ?? origin
        guard let session = idle[key]?.removeFirst() else { return nil }
        if idle[key]?.isEmpty == true { idle[key] = nil }
        idleCount -= 1
        return session
    }

    /// Lets go of all sessions, and of all who stand in line.
    package mutating func removeAll() -> (sessions: [Session], inLine: [Exchange]) {
        defer { self = URLSessionLanes(maxPerOrigin: maxPerOrigin) }
        return (
            idle.values.flatMap(\.self) + occupied.values.map(\.session),
            line.values.flatMap(\.self)
        )
    }
}
