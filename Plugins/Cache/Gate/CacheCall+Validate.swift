// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

struct Validation: Sendable {
    let entry: CacheEntry
    var cookies: [String] = []
}

extension CacheCall {
    enum Answer {
        case confirmed(Validation)
        /// The server sent a new response. `isStored` is true if the content will be stored.
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
        let mark = begin()
        let outcome = await outcome(of: conditional, inner)
        guard let head = outcome.head, head.status == .notModified,
            entry.response.freshness.hasValidator
        else {
            await forgetIfGone(entry, outcome, inner)
            return await replaced(entry, by: try outcome.result.get(), mark, inner)
        }
        await outcome.response?.discard(in: inner)
        if await isReadable(entry, inner), let validation = await confirm(entry, by: head, mark) {
            return .confirmed(validation)
        }
        // The 304 confirms an entry that is not stored or cannot be read. The cache therefore sends
        // the original request.
        let second = begin()
        return await replaced(entry, by: try await next(request, context: inner), second, inner)
    }

    private func replaced(
        _ entry: CacheEntry, by response: Response, _ mark: Recordings.Mark, _ inner: Context
    ) async -> Answer {
        let (recorded, isStored) = await record(response, mark, inner, renewing: entry)
        if !isStored { await forgetIfObsolete(entry, by: recorded.status, inner) }
        return .answered(recorded, isStored: isStored)
    }

    // Removes an entry if the status means that the resource has changed or is gone.
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

    // An inner validator turns 404 and 410 into errors. Other errors may not come from the origin.
    private func forgetIfGone(
        _ entry: CacheEntry, _ outcome: Outcome, _ inner: Context
    ) async {
        guard outcome.error != nil, let status = outcome.status, status == 404 || status == 410
        else { return }
        await forgetIfObsolete(entry, by: status, inner)
    }

    // Updates an entry with a 304 (RFC 9111 §4.3.4). Returns nil for another response's 304.
    private func confirm(
        _ entry: CacheEntry, by head: ResponseHead, _ mark: Recordings.Mark
    ) async -> Validation? {
        let old = entry.response.head.headers
        if let new = head.headers.first(.eTag), let old = old.first(.eTag) {
            guard Preconditions.isSame(new, old, strongly: false) else { return nil }
        } else if let new = head.headers.first(.lastModified), let old = old.first(.lastModified) {
            // With other dates, the date of another state of the resource would become the
            // validator.
            guard Grammar.areSame(new, old) else { return nil }
        }
        return Validation(
            entry: await freshen(entry, by: head, mark),
            cookies: head.headers.values(of: .setCookie))
    }

    /// Updates an entry's header fields (RFC 9111 §3.2), also in the store.
    private func freshen(
        _ entry: CacheEntry, by head: ResponseHead, _ mark: Recordings.Mark
    ) async -> CacheEntry {
        let now = date
        let old = entry.response
        var headers = old.head.headers
        // The stored `Age` is wrong after the 304.
        headers.remove(.age)
        let news = Storability.fields(head.headers, CacheControl(head.headers)).filter {
            !Self.isKept($0.name)
        }
        let names = Set(news.map(\.name))
        headers.removeAll { names.contains($0.name) }
        for field in news { headers.append(field.name, field.value) }
        if !head.headers.contains(.date) { headers[.date] = HTTPDate.format(now) }
        // Removes header fields that the old or new `Cache-Control` excludes from reuse.
        headers = Storability.fields(headers, CacheControl(headers))
        let control = CacheControl(headers)
        let merged = old.head.replacing(headers: headers)
        let freshness = Freshness(
            merged, control, requestTime: mark.requestTime, responseTime: now)
        let variant = Variant(headers, to: request.headers)
        // The entry keeps its key, unless the response is now only for this person.
        let key = freshness.isPersonal ? keys.personal : old.key
        let response = StoredResponse(
            key: key, variant: variant ?? old.variant, head: merged, freshness: freshness,
            requestTime: mark.requestTime, responseTime: now)
        let isStorable =
            variant != nil && key == old.key && !mark.isSpoiled(key)
            && Storability.allows(merged, control)
        _ = await state.attempt(context) {
            if isStorable {
                try await state.store.update(entry, to: response)
            } else {
                try await state.store.remove(old.key)
            }
        }
        return CacheEntry(response: response, content: entry.content)
    }

    // A 304 does not change cookies and the fields that describe the content.
    private static func isKept(_ name: HTTPHeaders.Name) -> Bool {
        switch name {
        case .contentLength, .contentEncoding, .contentRange, .setCookie, "Content-MD5": true
        default: false
        }
    }

    // MARK: HEAD, and requests for parts

    /// Forwards a HEAD request, and updates the entry with the response (RFC 9111 §4.3.5).
    func renewByHead(_ entry: CacheEntry, _ reason: CacheOutcome) async throws -> Response {
        let mark = begin()
        let outcome = await outcome(of: request, context)
        guard let response = outcome.response else {
            return try await staleOnError(entry, outcome)
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

    private static func isSame(_ new: HTTPHeaders, _ entry: CacheEntry) -> Bool {
        let old = entry.response.head.headers
        for name in [HTTPHeaders.Name.eTag, .lastModified] {
            if let new = new.first(name), !Grammar.areSame(new, old.first(name)) { return false }
        }
        guard let length = new.first(.contentLength) else { return true }
        if let old = old.first(.contentLength) { return length == old }
        // If the stored content was decoded, the lengths differ.
        return new.contains(.contentEncoding) || Int64(length) == entry.content.length
    }

    /// Forwards a request with a range or with the caller's own condition.
    func forwardPart(_ entry: CacheEntry, _ reason: CacheOutcome) async throws -> Response {
        let mark = begin()
        let outcome = await outcome(of: request, context)
        // An inner validator may have turned the 304 into an error.
        if let head = outcome.head { await learn(from: head, entry, mark) }
        guard let response = outcome.response else {
            await forgetIfGone(entry, outcome, context)
            return try await staleOnError(entry, outcome)
        }
        let (recorded, isStored) = await record(response, mark, context, renewing: entry)
        if !isStored { await forgetIfObsolete(entry, by: recorded.status, context) }
        return try await checked(marked(recorded, reason, isStored: isStored), entry, reason)
    }

    // The caller's condition is about the entry if both have the same strong entity tag.
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

/// Calls with equal keys share one validation.
struct RevalidationKey: Hashable {
    let key: CacheKey
    let variant: Variant
    // Calls with different gates do not share a validation.
    let plan: ObjectIdentifier
    // Only calls with equal permission to share wait for each other.
    let allowsSharing: Bool
    // Calls that may connect only to public addresses do not share the validation of other calls.
    let isGuarded: Bool

    init(_ response: StoredResponse, _ request: Request, _ next: Next) {
        key = response.key
        variant = response.variant
        plan = next.planIdentity
        allowsSharing = request.options.allowSharing
        isGuarded = request.options.addressRule != nil
    }
}

/// The result of a validation for all waiting callers.
///
/// A caller uses the result only if the caller may find the response in the store.
enum Revalidated: Sendable {
    case confirmed(Validation)
    case answered(Answer)

    /// A new response, or the error that an inner validator made of the response.
    struct Answer: Sendable {
        let head: ResponseHead
        var content: Result<Data, any Error>
        // The response in stored form. The callers that may use the response follow from its key.
        let stored: StoredResponse
        let isStored: Bool
    }
}

typealias Revalidations = Flights<RevalidationKey, Revalidated>
