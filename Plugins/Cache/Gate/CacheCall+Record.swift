import Foundation
import Synchronization
import TurnpikeCore

extension CacheCall {
    /// A response whose content is stored as it is read, if it may be, and whether the store has taken
    /// it on: `stored` of `Cache-Status`.
    ///
    /// What it renews goes when it is stored, if it was this caller's own and stood elsewhere.
    func record(
        _ response: consuming Response, _ mark: Recordings.Mark, _ inner: Context,
        renewing old: CacheKey? = nil
    ) async -> (Response, Bool) {
        let now = date
        let received = response.head
        var map = FieldMap(received.headers)
        let control = CacheControl(received.headers, map)
        let body = response.body
        guard Storability.allows(received, control, map),
            let variant = Variant(received.headers, map, to: request.headers),
            body.length ?? 0 <= options.maxContentBytes
        else { return (response, false) }
        if Self.isServerFault(received.status), await hasStandIn(inner) {
            return (response, false)
        }
        var headers: HTTPHeaders
        (headers, map) = Storability.fields(received.headers, control, map)
        if !map.contains(.date) {
            // RFC 9110 §6.6.1.
            map.note(.date, at: headers.count)
            headers.appendChecked(.date, HTTPDate.format(now))
        }
        // Without fragment and user information.
        let isPlain = request.url.absoluteString == keys.url
        let head = ResponseHead(
            status: received.status, headers: headers,
            url: isPlain ? request.url : URL(string: keys.url) ?? request.url,
            version: received.version)
        let freshness = Freshness(
            head, control, map, requestTime: mark.requestTime, responseTime: now)
        let key = keys.key(of: control, isPersonal: freshness.isPersonal)
        guard freshness.isUseful, !mark.isSpoiled(key) else { return (response, false) }
        let stored = StoredResponse(
            key: key, variant: variant, head: head, freshness: freshness,
            requestTime: mark.requestTime, responseTime: now)
        let writer: (any CacheWriter)?
        do {
            writer = try await state.store.writer(for: stored, length: body.length)
        } catch {
            state.failed(error, inner)
            writer = nil
        }
        guard let writer else { return (response, false) }
        let recording = Recording(
            body, writer, mark, stored,
            replacing: old.flatMap { $0 != key && keys.isOwn($0) ? $0 : nil },
            maxBytes: options.maxContentBytes, state: state, context: inner)
        if body.isEmpty {
            let isStored = await recording.finish()
            return (response, isStored)
        }
        response.body = ResponseBody(
            source: recording, length: body.length, encodedLength: body.encodedLength)
        return (response, true)
    }
}

/// The chunks of a response's content, each stored before its reader gets it.
final class Recording: ResponseBodySource {
    private let body: ResponseBody
    private let writer: any CacheWriter
    private let mark: Recordings.Mark
    private let key: CacheKey
    private let variant: Variant
    private let replaced: CacheKey?
    private let maxBytes: Int64
    private let state: CacheState
    private let context: Context
    private let hasBegun = Atomic(false)
    // Nil once it has ended, either way.
    private let count = Mutex<Int64?>(0)

    init(
        _ body: ResponseBody, _ writer: any CacheWriter, _ mark: Recordings.Mark,
        _ stored: StoredResponse, replacing replaced: CacheKey?, maxBytes: Int64,
        state: CacheState, context: Context
    ) {
        self.body = body
        self.writer = writer
        self.mark = mark
        key = stored.key
        variant = stored.variant
        self.replaced = replaced
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
            switch fits(chunk) {
            case nil: return chunk
            case false?: await giveUp()
            case true?:
                do {
                    try await writer.write(chunk)
                } catch {
                    state.failed(error, context)
                    await giveUp()
                }
            }
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

    // Nil where nothing is stored any more.
    private func fits(_ chunk: Data) -> Bool? {
        count.withLock { count in
            guard let before = count else { return nil }
            count = before + Int64(chunk.count)
            return before + Int64(chunk.count) <= maxBytes
        }
    }

    // What is not stored is not what was there, either.
    private func giveUp() async {
        abandon()
        guard mark.mayStore(key, variant) else { return }
        _ = await state.attempt(context) {
            for key in [key, replaced].compactMap(\.self) { try await state.store.remove(key) }
        }
    }

    /// Makes the entry findable, if it has the right length.
    /// - Returns: Whether it is.
    @discardableResult
    func finish() async -> Bool {
        let count = self.count.withLock { count in
            defer { count = nil }
            return count
        }
        guard let count else { return false }
        guard body.length ?? count == count, mark.mayStore(key, variant) else {
            writer.abandon()
            return false
        }
        do {
            try await writer.commit()
            state.counts.addStored()
            // Changed, or overtaken, while it was committed.
            let isStored = mark.mayStore(key, variant)
            if !isStored { try await state.store.remove(key) }
            if let replaced { try await state.store.remove(replaced) }
            return isStored
        } catch {
            writer.abandon()
            state.failed(error, context)
        }
        return false
    }

    private func abandon() {
        let isOpen = count.withLock { count in
            defer { count = nil }
            return count != nil
        }
        if isOpen { writer.abandon() }
    }

    // The reader gets them; they are not stored.
    var trailers: HTTPHeaders { body.trailers }

    var encodedBytes: Int64? { body.encodedBytes }
}
