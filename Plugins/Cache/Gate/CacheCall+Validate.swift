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
        /// The server sent another response; `isStored` says whether its content will be stored.
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
        // The entry that the 304 confirms is not stored or cannot be read any more. So the original
        // request is sent.
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

    // Removes an entry if the status says that the resource has changed or is gone. Other errors
    // say nothing about the resource.
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

    // An inner validator turns these statuses into errors. Errors of other gates may not come from
    // the origin.
    private func forgetIfGone(
        _ entry: CacheEntry, _ outcome: Outcome, _ inner: Context
    ) async {
        guard outcome.error != nil, let status = outcome.status, status == 404 || status == 410
        else { return }
        await forgetIfObsolete(entry, by: status, inner)
    }

    /// Updates an entry by a 304 (RFC 9111 §4.3.4); nil if the 304 is about another response.
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

    /// Updates an entry's fields (RFC 9111 §3.2), also in the store.
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
        // Removes fields that a `Cache-Control` of the old or new head excludes from reuse.
        headers = Storability.fields(headers, CacheControl(headers))
        let control = CacheControl(headers)
        let merged = old.head.replacing(headers: headers)
        let freshness = Freshness(
            merged, control, requestTime: mark.requestTime, responseTime: now)
        let variant = Variant(headers, to: request.headers)
        // The content is the same, so the entry keeps its key, unless the response is personal now.
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

    // The fields that a 304 does not change: those that describe the content, and cookies.
    private static func isKept(_ name: HTTPHeaders.Name) -> Bool {
        switch name {
        case .contentLength, .contentEncoding, .contentRange, .setCookie, "Content-MD5": true
        default: false
        }
    }

    // MARK: HEAD, and requests for parts

    /// Forwards a HEAD, and updates the entry with its response (RFC 9111 §4.3.5).
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
        // Content that was decoded before storing has another length.
        return new.contains(.contentEncoding) || Int64(length) == entry.content.length
    }

    /// Forwards a request for a part, or with the caller's own condition.
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

    // The caller's condition concerned the entry if both have the same strong entity tag.
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

/// Calls with the same key wait for the same validation.
struct RevalidationKey: Hashable {
    let key: CacheKey
    let variant: Variant
    // Calls with different gates do not share a validation.
    let plan: ObjectIdentifier
    // No call waits for a refresh without permission to share.
    let allowsSharing: Bool
    // Calls that may connect only to public addresses do not wait for other calls.
    let isGuarded: Bool

    init(_ response: StoredResponse, _ request: Request, _ next: Next) {
        key = response.key
        variant = response.variant
        plan = next.planIdentity
        allowsSharing = request.options.allowSharing
        isGuarded = request.options.addressRule != nil
    }
}

/// The result of a validation, for all callers that wait for it.
///
/// A caller uses the result only if the caller could have found the response in the store.
enum Revalidated: Sendable {
    case confirmed(Validation)
    case answered(Answer)

    /// A new response, or the error into which an inner validator turned the response.
    struct Answer: Sendable {
        let head: ResponseHead
        var content: Result<Data, any Error>
        /// The response in its stored form; its key shows which callers may use it.
        let stored: StoredResponse
        let isStored: Bool
    }
}

typealias Revalidations = Flights<RevalidationKey, Revalidated>
