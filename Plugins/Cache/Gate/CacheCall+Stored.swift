import Foundation
import TurnpikeCore

extension CacheCall {
    /// The answer that an entry gives, or nil where the request is for parts that it does not give.
    func stored(_ entry: CacheEntry, _ outcome: CacheOutcome) -> Response? {
        guard let part = StoredPart(of: entry, for: request, at: date) else { return nil }
        state.counts.add(outcome)
        let left = entry.response.freshness.timeLeft(at: date)
        return response(entry, part, CacheStatus.hit(secondsLeft: left))
    }

    /// A response out of an entry.
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
        var response = Response(head: head, body: isEmpty ? .empty : entry.content.body(range))
        response.record = context.call.record
        return response
    }
}

/// What of an entry answers a request: all of it, a range, or none of it.
enum StoredPart {
    case whole
    case range(Range<Int64>)
    case notModified
    case notSatisfiable

    /// Finds the part, or nil where the origin is to be asked.
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
            // What describes content that is not there (RFC 9110 §15.4.5).
            headers.remove(.contentLength)
        case .notSatisfiable:
            headers[.contentRange] = "bytes */\(length)"
            headers[.contentLength] = "0"
        }
    }
}
