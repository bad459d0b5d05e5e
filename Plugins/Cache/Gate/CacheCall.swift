import Foundation
import Synchronization
import TurnpikeCore

/// One pass of a request through the cache.
struct CacheCall: Sendable {
    let request: Request
    let keys: CacheKeys
    let context: Context
    let next: Next
    let state: CacheState
    let options: Cache.Options

    var date: Date { context.timeSource.date }

    /// Answers a GET or HEAD (RFC 9111 §4).
    func answer() async throws -> Response {
        let control = CacheControl(request.headers)
        if control.noStore || Self.needsOrigin(request.headers) {
            return try await passing(.bypass, control)
        }
        let lookUp = LookUp(keys, request.headers)
        guard let entry = await find(lookUp, context) else {
            if control.onlyIfCached { return notCached() }
            return try await fetch(lookUp.hasMetOthers ? .variantMiss : .miss)
        }
        let usability = Usability(entry.response.freshness, for: control, at: date)
        do {
            if let response = try await stored(entry, usability) {
                if usability == .staleWhileRevalidate, !control.onlyIfCached { refresh(entry) }
                return response
            }
        } catch is UnreadableEntry {
            if control.onlyIfCached { return notCached() }
            return try await fetch(.miss)
        }
        if control.onlyIfCached { return notCached() }
        return try await renew(entry, usability == .stale ? .stale : .refused)
    }

    /// The entry that answers the request, fresh or stale; a fault of the store is a miss.
    ///
    /// One that came later than now was stored while a clock was ahead, and must not hide what came
    /// since.
    func find(_ lookUp: LookUp, _ inner: Context) async -> CacheEntry? {
        await state.attempt(inner) {
            let present = date
            let entry = try await first { lookUp.isMet(by: $0) }
            guard let entry, entry.response.responseTime > present else { return entry }
            return try await first { $0.responseTime <= present && lookUp.isMet(by: $0) } ?? entry
        }
    }

    private func first(
        where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry? {
        try await keys.first { try await state.store.entry(for: $0, where: isMatch) }
    }

    private func stored(_ entry: CacheEntry, _ usability: Usability) async throws -> Response? {
        switch usability {
        case .fresh: try await stored(entry, .hit)
        case .staleAccepted, .staleWhileRevalidate: try await stored(entry, .staleHit)
        case .stale, .refused: nil
        }
    }

    // Preconditions that only the origin can judge (RFC 9110 §13.1).
    private static func needsOrigin(_ headers: HTTPHeaders) -> Bool {
        headers.contains(.ifMatch) || headers.contains(.ifUnmodifiedSince)
    }

    /// Whether the caller asks for a part, or under a condition of its own.
    var isPartialOrConditional: Bool {
        request.headers.contains { field in
            switch field.name {
            case .range, .ifRange, .ifNoneMatch, .ifModifiedSince: true
            default: false
            }
        }
    }

    /// Sends the request, and stores what comes.
    func fetch(_ reason: CacheOutcome) async throws -> Response {
        guard request.method == .get else {
            let response = try await next(request)
            state.counts.add(reason)
            return marked(response, reason, isStored: false)
        }
        let mark = state.recordings.begin(keys.all, at: date)
        let response = try await next(request)
        state.counts.add(reason)
        // Nobody else holds it then: it is changed, and not copied.
        let (recorded, isStored) = await record(consume response, mark, context)
        return marked(recorded, reason, isStored: isStored)
    }

    private func passing(
        _ reason: CacheOutcome, _ control: CacheControl
    ) async throws -> Response {
        if control.onlyIfCached { return notCached() }
        let response = try await next(request)
        state.counts.add(reason)
        return marked(response, reason, isStored: false)
    }

    // RFC 9111 §5.2.1.7.
    private func notCached() -> Response {
        state.counts.add(.miss)
        var response = Response(to: request, status: .gatewayTimeout)
        response.record = context.call.record
        response.appendChecked(
            CacheStatus.field, CacheStatus.name + ";detail=only-if-cached")
        return response
    }

    /// A response that was forwarded, with what the cache did.
    func marked(
        _ response: consuming Response, _ reason: CacheOutcome, isStored: Bool,
        isCollapsed: Bool = false
    ) -> Response {
        let status = response.status.code
        response.appendChecked(
            CacheStatus.field,
            CacheStatus.forwarded(
                reason, status: status, isStored: isStored, isCollapsed: isCollapsed))
        return response
    }

    // MARK: Changes

    /// Sends a request that may change what it names, and forgets what that was (RFC 9111 §4.4).
    func change() async throws -> Response {
        // Only the response to a POST may be stored.
        let mark =
            request.method == .post && keys.isStorable
            ? state.recordings.begin(keys.all, at: date) : nil
        let outcome: Outcome
        do {
            outcome = Outcome(request: request, result: .success(try await next(request)))
        } catch {
            outcome = Outcome(request: request, result: .failure(error))
        }
        if let head = outcome.head, (200..<400).contains(head.status.code) {
            await forget(head, mark)
        }
        let response = try outcome.result.get()
        state.counts.add(.method)
        guard let mark, isOwnContent(response) else {
            return marked(response, .method, isStored: false)
        }
        let (recorded, isStored) = await record(response, mark, context)
        return marked(recorded, .method, isStored: isStored)
    }

    // Whether the response to a POST says it is what a GET of the same URL gives (RFC 9110 §9.3.3).
    private func isOwnContent(_ response: Response) -> Bool {
        let control = CacheControl(response.headers)
        guard response.status.isSuccessful, control.maxAge != nil,
            let location = response.headers[.contentLocation],
            let url = URL(reference: location, relativeTo: request.url)?.absoluteURL
        else { return false }
        return keys.keys(of: url).map(keys.isSameURL) ?? false
    }

    // What is the caller's, and what all share: what is another's is not known to have changed.
    private func forget(_ head: ResponseHead, _ mark: Recordings.Mark?) async {
        var urls = [request.url]
        for name in [HTTPHeaders.Name.location, .contentLocation] {
            // Another origin's responses are not this one's to forget.
            guard let text = head.headers[name],
                let url = URL(reference: text, relativeTo: request.url)?.absoluteURL,
                Origin(url) == request.origin
            else { continue }
            urls.append(url)
        }
        for url in urls {
            for key in keys.keys(of: url)?.all ?? [] {
                state.recordings.spoil(key, except: mark)
                _ = await state.attempt(context) { try await state.store.remove(key) }
            }
        }
        state.counts.tellUsage()
    }
}

/// What a request looks for, and whether it has met variants that do not fit.
final class LookUp: Sendable {
    private let keys: CacheKeys
    private let headers: HTTPHeaders
    private let others = Atomic(false)

    init(_ keys: CacheKeys, _ headers: HTTPHeaders) {
        self.keys = keys
        self.headers = headers
    }

    var hasMetOthers: Bool { others.load(ordering: .relaxed) }

    func isMet(by response: StoredResponse) -> Bool {
        guard keys.allows(response.key, isPersonal: response.freshness.isPersonal) else {
            return false
        }
        if response.variant.matches(headers, of: response.head.headers) { return true }
        others.store(true, ordering: .relaxed)
        return false
    }
}

extension ResponseHead {
    /// The head for one who did not ask for it: as if it had come from the store.
    var shared: ResponseHead {
        let map = FieldMap(headers)
        var head = replacing(
            headers: Storability.fields(headers, CacheControl(headers, map), map).0)
        head.isStored = true
        return head
    }

    /// The head with other header fields.
    func replacing(headers: HTTPHeaders) -> ResponseHead {
        var head = self
        head.headers = headers
        return head
    }
}
