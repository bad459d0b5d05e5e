// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

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
            return control.onlyIfCached ? notCached() : try await forward(.bypass)
        }
        let lookUp = LookUp(keys, request.headers)
        var found = await context.report(waitingFor: "look in the cache") { await find(lookUp, $0) }
        var claim: Claim?
        if found == nil, !control.onlyIfCached, request.method == .get, !lookUp.hasMetOthers,
            request.options.allowSharing, let limit = state.store.claimLimit
        {
            (found, claim) = try await claimed(lookUp, atMost: limit)
        }
        guard let entry = found else {
            if control.onlyIfCached { return notCached() }
            return try await fetch(lookUp.hasMetOthers ? .variantMiss : .miss, claim)
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

    // Finds the fresh or stale entry that answers the request. A store error counts as a miss. If a
    // clock was ahead, an entry has a time in the future, and must not hide entries that were
    // stored later.
    func find(_ lookUp: LookUp, _ inner: Context) async -> CacheEntry? {
        await state.attempt(inner) {
            let present = date.addingTimeInterval(Freshness.clockTolerance)
            func first(
                where isMatch: @escaping @Sendable (StoredResponse) -> Bool
            ) async throws -> CacheEntry? {
                try await keys.first { try await state.store.entry(for: $0, where: isMatch) }
            }
            let entry = try await first { lookUp.isMet(by: $0) }
            guard let entry, entry.response.responseTime > present else { return entry }
            return try await first { $0.responseTime <= present && lookUp.isMet(by: $0) } ?? entry
        }
    }

    private func stored(_ entry: CacheEntry, _ usability: Usability) async throws -> Response? {
        switch usability {
        case .fresh: try await stored(entry, .hit)
        case .staleAccepted, .staleWhileRevalidate: try await stored(entry, .staleHit)
        case .stale, .refused: nil
        }
    }

    // Whether the request has preconditions that only the origin can evaluate (RFC 9110 §13.1).
    private static func needsOrigin(_ headers: HTTPHeaders) -> Bool {
        headers.contains(.ifMatch) || headers.contains(.ifUnmodifiedSince)
    }

    private func fetch(_ reason: CacheOutcome, _ claim: Claim? = nil) async throws -> Response {
        guard request.method == .get else { return try await forward(reason) }
        let mark = begin()
        let response = try await next(request)
        state.counts.add(reason)
        // `consume` prevents a copy of the response when the response is changed.
        let (recorded, isStored) = await record(consume response, mark, context, claim)
        if !isStored { claim?.end(.notStored) }
        return marked(recorded, reason, isStored: isStored)
    }

    private func forward(_ reason: CacheOutcome) async throws -> Response {
        let response = try await next(request)
        state.counts.add(reason)
        return marked(response, reason, isStored: false)
    }

    func begin() -> Recordings.Mark { state.recordings.begin(keys.all, at: date) }

    func outcome(of request: Request, _ inner: Context) async -> Outcome {
        do {
            let response = try await next(request, context: inner)
            return Outcome(request: request, result: .success(response))
        } catch {
            return Outcome(request: request, result: .failure(error))
        }
    }

    // The response for `only-if-cached` (RFC 9111 §5.2.1.7).
    private func notCached() -> Response {
        state.counts.add(.miss)
        var response = Response(to: request, status: .gatewayTimeout)
        response.head.headers.append(
            CacheStatus.field, CacheStatus.name + ";detail=only-if-cached")
        return response
    }

    /// Adds `Cache-Status` to a response from the origin.
    func marked(
        _ response: consuming Response, _ reason: CacheOutcome, isStored: Bool,
        isCollapsed: Bool = false
    ) -> Response {
        let status = response.status.code
        response.head.headers.append(
            CacheStatus.field,
            CacheStatus.forwarded(
                reason, status: status, isStored: isStored, isCollapsed: isCollapsed))
        return response
    }
}

// The condition of one look-up. The object records whether the look-up found other variants.
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
    func replacing(headers: HTTPHeaders) -> ResponseHead {
        var head = self
        head.headers = headers
        return head
    }
}

extension CacheCall {
    /// Sends an unsafe request, and removes the stored responses of its target (RFC 9111 §4.4).
    func change() async throws -> Response {
        // Only the response to a POST may be stored.
        let mark = request.method == .post && keys.isStorable ? begin() : nil
        let outcome = await outcome(of: request, context)
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

    // Whether a GET of the URL would get the same response as the POST (RFC 9110 §9.3.3).
    private func isOwnContent(_ response: Response) -> Bool {
        let control = CacheControl(response.headers)
        guard response.status.isSuccessful, control.maxAge != nil,
            let location = response.headers[.contentLocation],
            let uri = TargetURI(reference: location, relativeTo: request.targetURI)
        else { return false }
        return keys.keys(of: uri).map(keys.isSameURL) ?? false
    }

    // Removes the entries that this caller can find. Other callers' entries may be valid.
    private func forget(_ head: ResponseHead, _ mark: Recordings.Mark?) async {
        var targets = [request.targetURI]
        for name in [HTTPHeaders.Name.location, .contentLocation] {
            // An origin may not remove responses of another origin.
            guard let text = head.headers[name],
                let uri = TargetURI(reference: text, relativeTo: request.targetURI),
                uri.origin == request.origin
            else { continue }
            targets.append(uri)
        }
        for uri in targets {
            for key in keys.keys(of: uri)?.all ?? [] {
                state.recordings.spoil(key, except: mark)
                _ = await state.attempt(context) { try await state.store.remove(key) }
            }
        }
        state.counts.tellUsage()
    }
}
