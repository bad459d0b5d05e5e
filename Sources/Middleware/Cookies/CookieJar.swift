// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
public import TurnpikeSupport

/// Keeps cookies in memory and, optionally, in a file, by the rules of RFC 6265bis.
///
/// A jar has bounds: 4096 bytes for the name and value of a cookie, 180 cookies for a domain, and
/// 3,000 cookies in total. If a bound is reached, the jar removes expired cookies first, and the
/// least recently sent cookies next. Within a domain, the jar removes cookies without `Secure`
/// before cookies with `Secure`. One request gets at most 8190 bytes of cookies.
///
/// The file has mode 0600. The jar replaces the whole file one second after a change, and on
/// `shutdown` of the client. The file contains only cookies that have an expiry date. The jar skips
/// a line of the file that is not a cookie. When a jar opens the file, the jar removes the
/// temporary files of a process that was killed during a write.
///
/// If the path is a link, the jar replaces the target of the link. This user or the superuser must
/// own the file, the link and the folder, and no other user may have write access. The jar accepts
/// a folder such as `/tmp`, where users cannot change the files of other users. If a condition does
/// not hold, the initializer throws an error. If a condition fails later, the cookies stay in
/// memory, and the log of a call states the reason.
///
/// Clients of one process should share a jar, because two jars with one file overwrite each other's
/// cookies. Clients whose stack files name the same file share one jar.
public final class CookieJar: CookieStorage {
    static let maxPerDomain = 180
    static let maxTotal = 3000
    private static let maxSentBytes = 8190

    private let suffixes: Mutex<PublicSuffixes>
    private let file: SavedFile?
    private let state = Mutex(CookieTable())

    /// Creates a jar in memory.
    /// - Parameter suffixes: The public suffixes, for which no cookie may be set. If the list is
    ///   empty, the jar sends each cookie only to the host that set the cookie.
    public init(suffixes: PublicSuffixes = .standard) {
        self.suffixes = Mutex(suffixes)
        file = nil
    }

    /// Creates a jar with a file.
    /// - Parameters:
    ///   - path: The path of the file, which need not exist.
    ///   - suffixes: The public suffixes, for which no cookie may be set.
    ///   - timeSource: Measures the delay before a write.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if the file exists and the jar
    ///   cannot read or must not trust the file. The message has the path and the reason.
    public init(
        file path: String, suffixes: PublicSuffixes = .standard,
        timeSource: any TimeSource = SystemTimeSource()
    ) throws {
        self.suffixes = Mutex(suffixes)
        let file = SavedFile(path: path, timeSource: timeSource)
        self.file = file
        let lines: [JSONObject]
        do {
            lines = try file.lines(maxBytes: Self.maxFileBytes)
        } catch {
            throw ClientError(
                .configuration, "the file of cookies cannot be read: \(error)", underlying: error)
        }
        let date = timeSource.date
        state.withLock { table in
            for cookie in lines.lazy.compactMap(Cookie.init(line:))
            where !cookie.isExpired(at: date) {
                table.insert(cookie, at: date)
            }
            // The list may have grown after the cookies were set.
            if !suffixes.isEmpty { table.removeShared { suffixes.contains($0) } }
        }
    }

    // A full jar needs fewer bytes than this limit, including the attribute names in JSON.
    private static let maxFileBytes = 32 << 20

    /// All cookies, including expired ones, in no particular order.
    public var cookies: [Cookie] { state.withLock { $0.all } }

    /// Returns the cookies to send, sorted by path length and age (RFC 6265bis §5.8.3).
    ///
    /// If another site has redirected the request, the jar does not send `SameSite=Strict` cookies,
    /// and sends `SameSite=Lax` cookies only with a safe method. A request that the program starts
    /// counts as a same-site request.
    public func cookies(for request: Request, at date: Date) -> [Cookie] {
        guard let origin = request.origin, !state.withLock({ $0.isEmpty }) else { return [] }
        let path = CookieRules.path(of: request.targetURI)
        let sites = isSameSite(request, origin)
        let isSafe = request.method.isSafe
        let top = suffixes.withLock { $0 }.top(of: origin.host)
        let found = state.withLock { table in
            table.use(forHost: origin.host, upTo: top, at: date) { cookie in
                guard cookie.goes(toPath: path), !cookie.isSecure || origin.scheme == "https" else {
                    return false
                }
                switch cookie.sameSite {
                case .strict: return sites
                case .lax: return sites || isSafe
                case .some(.none), nil: return true
                }
            }
        }
        return Self.ordered(found)
    }

    /// Stores the cookies from the `Set-Cookie` lines of a response.
    @discardableResult
    public func store(_ lines: [String], from url: URL, at date: Date) -> Bool {
        let suffixes = suffixes.withLock { $0 }
        let cookies = lines.compactMap {
            Cookie(setCookie: $0, from: url, at: date, suffixes: suffixes)
        }
        if cookies.isEmpty { return false }
        let isTrusted = Origin(url)?.scheme == "https"
        let hasChanged = state.withLock { table in
            var hasChanged = false
            for cookie in cookies where isTrusted || !table.shadowsSecure(cookie) {
                if table.insert(cookie, at: date) { hasChanged = true }
            }
            return hasChanged
        }
        if hasChanged { file?.changed(content) }
        return hasChanged
    }

    /// Adds a cookie, or replaces the cookie with the same name, domain and path.
    func insert(_ cookie: Cookie, at date: Date) {
        state.withLock { _ = $0.insert(cookie, at: date) }
        file?.changed(content)
    }

    /// Removes all cookies.
    public func removeAll() {
        state.withLock { $0 = CookieTable() }
        file?.changed(content)
    }

    /// Applies another list of public suffixes.
    ///
    /// The jar removes each cookie for a whole domain if that domain is a public suffix. If the
    /// list is empty, the jar removes all cookies for whole domains, because no host could replace
    /// these cookies.
    public func apply(_ suffixes: PublicSuffixes) {
        self.suffixes.withLock { $0 = suffixes }
        state.withLock { $0.removeShared { suffixes.isEmpty || suffixes.contains($0) } }
    }

    /// Returns when the file contains all earlier changes.
    public func flush() async { await file?.flush(content) }

    func takeFault() -> String? { file?.takeFault() }

    private func content() -> Data {
        let lasting = cookies.filter { $0.expires != nil }
        return Data(lasting.flatMap { $0.line.data() + [UInt8(ascii: "\n")] })
    }

    private func isSameSite(_ request: Request, _ origin: Origin) -> Bool {
        guard let trail = request.options[RedirectTrail.self] else { return true }
        let suffixes = suffixes.withLock { $0 }
        return trail.allSatisfy {
            $0.scheme == origin.scheme && suffixes.isSameSite($0.host, origin.host)
        }
    }

    private static func ordered(_ cookies: [Cookie]) -> [Cookie] {
        let sorted = cookies.sorted { left, right in
            let (leftLength, rightLength) = (left.path.utf8.count, right.path.utf8.count)
            if leftLength != rightLength { return leftLength > rightLength }
            if left.created != right.created { return left.created < right.created }
            return left.serial < right.serial
        }
        var bytes = 0
        return sorted.filter { cookie in
            let size = cookie.pair.utf8.count + 2
            guard bytes + size <= maxSentBytes + 2 else { return false }
            bytes += size
            return true
        }
    }
}
