import Foundation
import TurnpikeCore

/// An entry that its origin has confirmed.
struct Validation: Sendable {
    let entry: CacheEntry
    /// The `Set-Cookie` lines that came with the confirmation.
    var cookies: [String] = []
}

extension CacheCall {
    enum Answer {
        case confirmed(Validation)
        /// Another response, and whether it is stored as it is read.
        case answered(Response, isStored: Bool)
    }

    /// Sends the request with the entry's validators (RFC 9111 §4.3.1).
    func validate(_ entry: CacheEntry, _ inner: Context) async throws -> Answer {
        var conditional = request
        let headers = entry.response.head.headers
        if let tag = Freshness.validator(.eTag, in: headers) {
            conditional.headers[.ifNoneMatch] = tag
        }
        if let date = Freshness.validator(.lastModified, in: headers) {
            conditional.headers[.ifModifiedSince] = date
        }
        let mark = state.recordings.begin(keys.all, at: date)
        let outcome: Outcome
        do {
            outcome = Outcome(
                request: conditional,
                result: .success(try await next(conditional, context: inner)))
        } catch {
            outcome = Outcome(request: conditional, result: .failure(error))
        }
        guard let head = outcome.head, head.status == .notModified,
            entry.response.freshness.hasValidator
        else {
            await forgetIfGone(entry, outcome, inner)
            return await answered(try outcome.result.get(), entry, mark, inner)
        }
        await outcome.response?.discard(in: inner)
        if await isReadable(entry, inner), let validation = await confirm(entry, by: head, mark) {
            return .confirmed(validation)
        }
        // It confirms what is not stored, or not any more: the whole is asked for.
        let second = state.recordings.begin(keys.all, at: date)
        return await answered(try await next(request, context: inner), entry, second, inner)
    }

    private func answered(
        _ response: Response, _ entry: CacheEntry, _ mark: Recordings.Mark, _ inner: Context
    ) async -> Answer {
        let freshness = entry.response.freshness
        if Self.isServerFault(response.status),
            mayStandIn(entry) || -freshness.timeLeft(at: date) < freshness.staleWhileRevalidate
        {
            // It must not take the place of what stands in for it.
            return .answered(response, isStored: false)
        }
        let (recorded, isStored) = await record(
            response, mark, inner, renewing: entry.response.key)
        if !isStored { await forgetIfObsolete(entry, by: recorded.status, inner) }
        return .answered(recorded, isStored: isStored)
    }

    // Where a status says that what is stored is no more: not where it only refuses to tell.
    private func forgetIfObsolete(
        _ entry: CacheEntry, by status: HTTPStatus, _ inner: Context
    ) async {
        switch status.code {
        case 404, 410: break
        case 206, 304: return
        default: guard (200..<400).contains(status.code) else { return }
        }
        _ = await state.attempt(inner) { try await state.store.remove(entry.response.key) }
    }

    // A validator inside refuses these; what else it refuses need not be the origin's answer.
    private func forgetIfGone(
        _ entry: CacheEntry, _ outcome: Outcome, _ inner: Context
    ) async {
        guard outcome.error != nil, let status = outcome.status, status == 404 || status == 410
        else { return }
        await forgetIfObsolete(entry, by: status, inner)
    }

    /// Takes over what a 304 says of an entry (RFC 9111 §4.3.4), or gives nil where it is not about
    /// it.
    private func confirm(
        _ entry: CacheEntry, by head: ResponseHead, _ mark: Recordings.Mark
    ) async -> Validation? {
        let old = entry.response.head.headers
        if let new = head.headers.first(.eTag), let old = old.first(.eTag) {
            guard Preconditions.isSame(new, old, strongly: false) else { return nil }
        } else if let new = head.headers.first(.lastModified), let old = old.first(.lastModified) {
            // A date of another state would be sent for this one from then on.
            guard Grammar.areSame(new, old) else { return nil }
        }
        return Validation(
            entry: await freshen(entry, by: head, mark),
            cookies: head.headers.values(of: .setCookie))
    }

    /// Updates an entry's fields (RFC 9111 §3.2), in the store too.
    private func freshen(
        _ entry: CacheEntry, by head: ResponseHead, _ mark: Recordings.Mark
    ) async -> CacheEntry {
        let now = date
        let old = entry.response
        var headers = old.head.headers
        // It counted until then.
        headers.remove(.age)
        let map = FieldMap(head.headers)
        let control = CacheControl(head.headers, map)
        let news = Storability.fields(head.headers, control, map).0.filtered {
            !Self.isKept($0.name)
        }
        for name in Set(news.map(\.name)) { headers.remove(name) }
        for field in news { headers.append(field.name, field.value) }
        if !head.headers.contains(.date) { headers[.date] = HTTPDate.format(now) }
        // What either of them does not let be used again.
        headers = Storability.fields(headers, CacheControl(headers), FieldMap(headers)).0
        let (plain, stored) = (FieldMap(headers), CacheControl(headers))
        let merged = old.head.replacing(headers: headers)
        let freshness = Freshness(
            merged, stored, plain, requestTime: mark.requestTime, responseTime: now)
        let variant = Variant(headers, plain, to: request.headers)
        // It is the same content, confirmed: it stays where it is, unless it is personal now.
        let key = freshness.isPersonal ? keys.personal : old.key
        let response = StoredResponse(
            key: key, variant: variant ?? old.variant, head: merged, freshness: freshness,
            requestTime: mark.requestTime, responseTime: now)
        let isStorable =
            variant != nil && key == old.key && !mark.isSpoiled(key)
            && Storability.allows(merged, stored, plain)
        _ = await state.attempt(context) {
            if isStorable {
                try await state.store.update(entry, to: response)
            } else {
                try await state.store.remove(old.key)
            }
        }
        return CacheEntry(response: response, content: entry.content)
    }

    // What describes the content that is kept, or was set once.
    private static func isKept(_ name: HTTPHeaders.Name) -> Bool {
        switch name {
        case .contentLength, .contentEncoding, .contentRange, .setCookie, "Content-MD5": true
        default: false
        }
    }

    // MARK: Requests of which the origin's answer is not stored

    /// Forwards a HEAD, and takes over what it says of the entry (RFC 9111 §4.3.5).
    func renewByHead(_ entry: CacheEntry, _ reason: CacheOutcome) async throws -> Response {
        let mark = state.recordings.begin(keys.all, at: date)
        let response: Response
        do {
            response = try await next(request)
        } catch {
            return try await staleOnError(entry, error)
        }
        if response.status == .ok {
            if Self.isSame(response.headers, entry), entry.response.head.status == .ok {
                _ = await freshen(entry, by: response.head, mark)
            } else {
                _ = await state.attempt(context) {
                    try await state.store.remove(entry.response.key)
                }
            }
        }
        return try await checked(marked(response, reason, isStored: false), entry, reason)
    }

    // Whether a HEAD is about the content that is stored: each validator that it has is the stored
    // one, and so is the length.
    private static func isSame(_ new: HTTPHeaders, _ entry: CacheEntry) -> Bool {
        let old = entry.response.head.headers
        for name in [HTTPHeaders.Name.eTag, .lastModified] {
            if let new = new.first(name), !Grammar.areSame(new, old.first(name)) { return false }
        }
        guard let length = new.first(.contentLength) else { return true }
        if let old = old.first(.contentLength) { return length == old }
        // Content that was stored decoded has another length.
        return new.contains(.contentEncoding) || Int64(length) == entry.content.length
    }

    /// Forwards a request for a part, or with a condition of the caller's own.
    func forwardPart(_ entry: CacheEntry, _ reason: CacheOutcome) async throws -> Response {
        let mark = state.recordings.begin(keys.all, at: date)
        let response: Response
        do {
            response = try await next(request)
        } catch {
            // A validator inside may have refused the confirmation.
            let outcome = Outcome(request: request, result: .failure(error))
            if let head = outcome.head { await learn(from: head, entry, mark) }
            await forgetIfGone(entry, outcome, context)
            return try await staleOnError(entry, error)
        }
        if Self.isServerFault(response.status), mayStandIn(entry) {
            return try await checked(marked(response, reason, isStored: false), entry, reason)
        }
        state.counts.add(reason)
        await learn(from: response.head, entry, mark)
        let (recorded, isStored) = await record(
            response, mark, context, renewing: entry.response.key)
        if !isStored { await forgetIfObsolete(entry, by: recorded.status, context) }
        return marked(recorded, reason, isStored: isStored)
    }

    // The caller's condition was about the entry where both have the same strong tag.
    private func learn(
        from head: ResponseHead, _ entry: CacheEntry, _ mark: Recordings.Mark
    ) async {
        guard head.status == .notModified, let new = head.headers.first(.eTag),
            let old = entry.response.head.headers.first(.eTag),
            Preconditions.isSame(new, old, strongly: true)
        else { return }
        _ = await freshen(entry, by: head, mark)
    }
}
