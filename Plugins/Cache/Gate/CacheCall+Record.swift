// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension CacheCall {
    /// Stores a response's content while the caller reads it, if storing is allowed (RFC 9111 §3).
    ///
    /// If the response replaces an entry under another key of this caller, the old entry is
    /// removed.
    /// - Returns: The response for the caller, and whether the store has accepted the response.
    func record(
        _ response: consuming Response, _ mark: Recordings.Mark, _ inner: Context,
        _ claim: Claim? = nil, renewing old: CacheEntry? = nil
    ) async -> (Response, isStored: Bool) {
        let (head, body) = (response.head, response.body)
        let control = CacheControl(head.headers)
        guard Storability.allows(head, control),
            let stored = prepared(head, control, requestTime: mark.requestTime),
            body.length ?? 0 <= options.maxContentBytes
        else { return (response, false) }
        if Self.isServerFault(head.status) {
            // If the caller gets the old entry instead of the response, the response must not
            // replace that entry.
            let entry = if let old { old } else { await find(LookUp(keys, request.headers), inner) }
            if let entry, isStandIn(entry) { return (response, false) }
        }
        guard stored.freshness.isUseful, !mark.isSpoiled(stored.key) else {
            return (response, false)
        }
        let writer: (any CacheWriter)?
        do {
            writer = try await state.store.writer(for: stored, length: body.length)
        } catch {
            state.failed(error, inner)
            writer = nil
        }
        guard let writer else { return (response, false) }
        let replaced = old?.response.key
        let recording = Recording(
            body, writer, mark, stored,
            replacing: replaced.flatMap { $0 != stored.key && keys.isOwn($0) ? $0 : nil },
            claim: claim, maxBytes: options.maxContentBytes, state: state, context: inner)
        if body.isEmpty {
            let isStored = await recording.finish()
            return (response, isStored)
        }
        response.body = ResponseBody(
            source: recording, length: body.length, encodedLength: body.encodedLength)
        return (response, true)
    }

    /// Returns the response in stored form, or nil if no request can match the `Vary` field.
    func prepared(
        _ received: ResponseHead, _ control: CacheControl, requestTime: Date
    ) -> StoredResponse? {
        guard let variant = Variant(received.headers, to: request.headers) else { return nil }
        let now = date
        var headers = Storability.fields(received.headers, control)
        // A recipient adds a missing `Date` (RFC 9110 §6.6.1).
        headers.setIfAbsent(.date, HTTPDate.format(now))
        // The stored URL has no fragment and no user information.
        let isPlain = request.url.absoluteString == keys.url
        let head = ResponseHead(
            status: received.status, headers: headers,
            url: isPlain ? request.url : URL(string: keys.url) ?? request.url,
            version: received.version)
        let freshness = Freshness(head, control, requestTime: requestTime, responseTime: now)
        return StoredResponse(
            key: keys.key(of: control, isPersonal: freshness.isPersonal), variant: variant,
            head: head, freshness: freshness, requestTime: requestTime, responseTime: now)
    }
}

// Stores content while the caller reads the content. The caller gets each chunk after the store.
final class Recording: ResponseBodySource {
    private let body: ResponseBody
    private let writer: any CacheWriter
    private let mark: Recordings.Mark
    private let key: CacheKey
    private let variant: Variant
    private let replaced: CacheKey?
    private let claim: Claim?
    private let maxBytes: Int64
    private let state: CacheState
    private let context: Context
    private let hasBegun = Atomic(false)
    // The number of stored bytes, or nil after the recording has ended.
    private let count = Mutex<Int64?>(0)

    init(
        _ body: ResponseBody, _ writer: any CacheWriter, _ mark: Recordings.Mark,
        _ stored: StoredResponse, replacing replaced: CacheKey?, claim: Claim?,
        maxBytes: Int64, state: CacheState, context: Context
    ) {
        self.body = body
        self.writer = writer
        self.mark = mark
        key = stored.key
        variant = stored.variant
        self.replaced = replaced
        self.claim = claim
        self.maxBytes = maxBytes
        self.state = state
        self.context = context
    }

    func next() async throws -> Data? {
        do {
            if !hasBegun.exchange(true, ordering: .relaxed) { try body.begin() }
            guard let chunk = try await body.pull() else {
                await finish()
                return nil
            }
            await store(chunk)
            return chunk
        } catch {
            abandon()
            throw error
        }
    }

    func cancel(_ reason: CancelReason) {
        abandon()
        body.cancel(reason)
    }

    private func store(_ chunk: Data) async {
        let total = count.withLock { count in
            count = count.map { $0 + Int64(chunk.count) }
            return count
        }
        guard let total else { return }
        if total > maxBytes { return await giveUp() }
        do {
            try await writer.write(chunk)
        } catch {
            state.failed(error, context)
            await giveUp()
        }
    }

    private func end() -> Int64? {
        count.withLock { count in
            defer { count = nil }
            return count
        }
    }

    // Stops storing. The old entry is removed too, because the old entry is out of date.
    private func giveUp() async {
        claim?.end(.notStored)
        abandon()
        guard mark.mayStore(key, variant) else { return }
        _ = await state.attempt(context) {
            for key in [key, replaced].compactMap(\.self) { try await state.store.remove(key) }
        }
    }

    /// Commits the entry if the content is complete and no later change forbids storing.
    @discardableResult
    func finish() async -> Bool {
        guard let count = end() else { return false }
        guard body.length ?? count == count, mark.mayStore(key, variant) else {
            writer.abandon()
            return false
        }
        do {
            try await writer.commit()
            state.counts.addStored()
            let isStored = mark.mayStore(key, variant)
            if !isStored { try await state.store.remove(key) }
            if isStored { claim?.end(storedUnder: key) }
            if let replaced { try await state.store.remove(replaced) }
            return isStored
        } catch {
            writer.abandon()
            state.failed(error, context)
        }
        claim?.end(.notStored)
        return false
    }

    private func abandon() {
        claim?.end(.gaveUp)
        if end() != nil { writer.abandon() }
    }

    var arrival: ResponseBodyArrival { body.arrival }

    var trailers: HTTPHeaders { body.trailers }

    var encodedBytes: Int64? { body.encodedBytes }
}
