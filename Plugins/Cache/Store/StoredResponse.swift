// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// A stored response without its content.
public struct StoredResponse: Sendable {
    private final class Storage: Sendable {
        let key: CacheKey
        let variant: Variant
        let head: ResponseHead
        let requestTime: Date
        let responseTime: Date
        let freshness: Freshness

        init(
            _ key: CacheKey, _ variant: Variant, _ head: ResponseHead, _ requestTime: Date,
            _ responseTime: Date, _ freshness: Freshness
        ) {
            self.key = key
            self.variant = variant
            self.head = head
            self.requestTime = requestTime
            self.responseTime = responseTime
            self.freshness = freshness
        }
    }

    // All parts are in one object, because responses are copied often.
    private let storage: Storage

    /// The key under which look-ups find the response.
    public var key: CacheKey { storage.key }
    /// The request fields on which the response depends.
    public var variant: Variant { storage.variant }
    /// Status, URL, version, and header fields except those of one connection.
    public var head: ResponseHead { storage.head }
    /// The time at which the request was sent, or the last request that validated the response.
    public var requestTime: Date { storage.requestTime }
    /// The time at which the response arrived, or the last response that validated this response.
    public var responseTime: Date { storage.responseTime }

    var freshness: Freshness { storage.freshness }

    /// Creates a stored response.
    public init(
        key: CacheKey, variant: Variant, head: ResponseHead, requestTime: Date, responseTime: Date
    ) {
        let freshness = Freshness(
            head, CacheControl(head.headers), requestTime: requestTime, responseTime: responseTime)
        self.init(
            key: key, variant: variant, head: head, freshness: freshness,
            requestTime: requestTime, responseTime: responseTime)
    }

    init(
        key: CacheKey, variant: Variant, head: ResponseHead, freshness: Freshness,
        requestTime: Date, responseTime: Date
    ) {
        storage = Storage(key, variant, head, requestTime, responseTime, freshness)
    }

    /// The estimated time since the origin made the response (RFC 9111 §4.2.3).
    ///
    /// The age is more than 30,000 years if the response arrived after this date.
    public func age(at date: Date) -> Duration { Self.duration(freshness.age(at: date)) }

    /// The rest of the lifetime; zero or less for a stale response.
    public func timeLeft(at date: Date) -> Duration {
        Self.duration(freshness.timeLeft(at: date))
    }

    /// Returns the time after ``responseTime`` in which the response is useful, for stores with
    /// expiry.
    /// - Parameter staleTime: The time in which a stale response with a validator is useful.
    /// - Returns: The rest of the lifetime, plus the time in which the stale response may be used.
    public func timeOfUse(staleTime: Duration) -> Duration {
        let fresh = max(freshness.lifetime - freshness.initialAge, 0)
        var stale = max(freshness.staleWhileRevalidate, freshness.staleIfError ?? 300)
        if freshness.hasValidator { stale = max(stale, staleTime.inSeconds) }
        return Self.duration(fresh + stale)
    }

    // The result is limited, because the age of a response from the future is infinite.
    private static func duration(_ seconds: Double) -> Duration {
        .seconds(seconds.isNaN ? 0 : min(max(seconds, -1e12), 1e12))
    }

    /// The approximate number of bytes in memory, without the content.
    var headBytes: Int {
        let (headers, fields) = (storage.head.headers, storage.variant.fields)
        return 256 + storage.key.url.utf8.count + headers.byteCount + 48 * headers.count
            + fields.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.utf8.count ?? 0) }
    }
}
