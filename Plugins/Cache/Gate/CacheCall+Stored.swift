// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

// The error of an entry whose content cannot be read, before the caller has got any content. The
// cache counts a miss.
struct UnreadableEntry: Error {}

extension CacheCall {
    /// Answers the request with an entry.
    ///
    /// The result is nil if the entry cannot serve the ranges.
    /// - Throws: ``UnreadableEntry``, or `CancellationError`.
    func stored(_ entry: CacheEntry, _ outcome: CacheOutcome) async throws -> Response? {
        let left = entry.response.freshness.timeLeft(at: date)
        guard let response = try await begun(entry, CacheStatus.hit(secondsLeft: left)) else {
            return nil
        }
        state.counts.add(outcome)
        return response
    }

    /// Returns a response from an entry, after a check of the entry's first bytes.
    ///
    /// Until the caller has got content, a response of the origin can replace a damaged entry.
    /// - Returns: nil if the entry cannot serve the requested ranges.
    /// - Throws: ``UnreadableEntry``, or `CancellationError`.
    func begun(_ entry: CacheEntry, _ status: String) async throws -> Response? {
        guard let part = StoredPart(of: entry, for: request, at: date) else { return nil }
        var response = response(entry, part, status)
        if entry.content is CachedData || response.body.isEmpty { return response }
        do {
            _ = try await response.body.peek(upTo: 1)
            return response
        } catch let error as CancellationError {
            throw error
        } catch {
            state.failed(error, context)
            throw UnreadableEntry()
        }
    }

    func isReadable(_ entry: CacheEntry, _ inner: Context) async -> Bool {
        if entry.content is CachedData || entry.content.length == 0 { return true }
        let begin = await state.attempt(inner) {
            var body = entry.content.body(0..<entry.content.length)
            return try await body.peek(upTo: 1)
        }
        return begin != nil
    }

    func response(_ entry: CacheEntry, _ part: StoredPart, _ status: String) -> Response {
        var headers = entry.response.head.headers
        let age = entry.response.freshness.age(at: date)
        headers[.age] = String(Int64(min(max(age, 0), Double(DeltaSeconds.longest))))
        part.apply(to: &headers, length: entry.content.length)
        headers.append(CacheStatus.field, status)
        let stored = entry.response.head
        var head = ResponseHead(
            status: part.status ?? stored.status, headers: headers, url: request.url,
            version: stored.version)
        head.isStored = true
        let range = part.range(of: entry.content.length)
        let isEmpty = request.method == .head || range.isEmpty
        return Response(head: head, body: isEmpty ? .empty : entry.content.body(range))
    }
}

enum StoredPart {
    case whole
    case range(Range<Int64>)
    case notModified
    case notSatisfiable

    /// Finds the requested part of an entry, or returns nil if only the origin can answer.
    init?(of entry: CacheEntry, for request: Request, at now: Date) {
        let head = entry.response.head
        if Preconditions.isUnchanged(head, for: request, at: now) ?? false {
            self = .notModified
            return
        }
        self = .whole
        guard let text = request.headers[.range], request.method == .get, head.status == .ok,
            Preconditions.allowsRange(head, for: request, at: now)
        else { return }
        switch ByteRange.parse(text, length: entry.content.length) {
        case .one(let range): self = .range(range)
        case .none: self = .notSatisfiable
        case .several: return nil
        case .malformed: break
        }
    }

    var status: HTTPStatus? {
        switch self {
        case .whole: nil
        case .range: .partialContent
        case .notModified: .notModified
        case .notSatisfiable: .rangeNotSatisfiable
        }
    }

    func range(of length: Int64) -> Range<Int64> {
        switch self {
        case .whole: 0..<length
        case .range(let range): range
        case .notModified, .notSatisfiable: 0..<0
        }
    }

    func apply(to headers: inout HTTPHeaders, length: Int64) {
        switch self {
        case .whole: break
        case .range(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
            headers[.contentLength] = String(range.count64)
        case .notModified:
            // A 304 does not describe content (RFC 9110 §15.4.5).
            headers.remove(.contentLength)
        case .notSatisfiable:
            headers[.contentRange] = "bytes */\(length)"
            headers[.contentLength] = "0"
        }
    }
}
