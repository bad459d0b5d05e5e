// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Answers requests with stored responses, as a private HTTP cache (RFC 9111).
///
/// ```swift
/// let store = TieredStore(MemoryStore(), DiskStore(directory: path))
/// let cache = Cache(store, partition: "catalog as deploy-bot")
/// let client = Client(stack: [
///     .deadline(), .validate(), .redirect(), .cookies(jar), .cache(cache), .retry(), .limits(),
/// ])
/// ```
///
/// Inside ``/TurnpikeMiddleware/Redirect``, the cache looks up each hop separately. Inside
/// ``/TurnpikeMiddleware/Cookies``, the cache sees the cookies of the request. Place the gate
/// outside retries, limits and gates that identify all calls of the client in the same way.
/// <doc:WhoseResponses> explains how the cache keeps the responses of different users apart.
///
/// The cache stores content while the caller reads the body. Other calls find the response after
/// the caller has read the body to its end. `Cache-Status` (RFC 9211) on each response reports the
/// result.
public struct Cache: Interceptor {
    let state: CacheState
    let options: Options
    private let partition: CachePartition

    /// Creates a cache in memory.
    ///
    /// If an inner gate or the transport may prove the client's identity
    /// (``/TurnpikeCore/Next/provesClient``), each client has its own responses.
    /// - Parameters:
    ///   - store: The store of responses.
    ///   - options: The rules for storing and serving.
    ///   - meter: Receives the counts of ``statistics``, as `turnpike.cache.…`.
    public init(
        _ store: MemoryStore = MemoryStore(), options: Options = Options(),
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            state: CacheState(store: store, meter: meter), partition: nil, options: options)
    }

    /// Creates a cache with a store that later processes, other replicas or services may use too.
    ///
    /// A cache finds only responses of caches with the same partition. If inner gates or the
    /// transport prove the client's identity, clients with different identities need different
    /// partitions.
    /// - Parameters:
    ///   - store: The store of responses.
    ///   - partition: The name of the service, and the client's account if there is one, such as
    ///     `"catalog as deploy-bot"`. If the name is empty, the cache stores nothing.
    ///   - options: The rules for storing and serving.
    ///   - meter: Receives the counts of ``statistics``, as `turnpike.cache.…`.
    public init(
        _ store: any CacheStore, partition: String, options: Options = Options(),
        meter: (any GateMeter)? = nil
    ) {
        self.init(
            state: CacheState(store: store, meter: meter), partition: partition, options: options)
    }

    /// Returns a cache with the same store, but another partition or other options.
    ///
    /// Both caches report to the same meter.
    /// - Parameters:
    ///   - partition: The name of the service and the account, or nil to keep the clients apart.
    ///   - options: The rules for storing and serving.
    /// - Returns: The cache.
    public func with(partition: String?, options: Options) -> Cache {
        Cache(state: state, partition: partition, options: options)
    }

    /// Reports to another meter from now on, or to no meter if `meter` is nil.
    public func report(to meter: (any GateMeter)?) { state.counts.move(to: meter) }

    /// Returns the numbers of ``statistics``.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        let (all, sent) = (statistics, statistics.misses + statistics.renewed)
        let hits = "\(all.hits) fresh, \(all.staleHits) stale, \(all.validated) validated"
        return [
            LiveFigure("answers so far", "\(hits), \(sent) sent, \(all.bypassed) bypassed"),
            LiveFigure("store", "\(all.usage.entries) responses, \(all.failures) faults so far"),
        ]
    }

    init(state: CacheState, partition: String?, options: Options = Options()) {
        self.state = state
        self.options = options
        self.partition = CachePartition(partition)
    }

    /// Answers the request from the store, or sends the request and stores the response.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let isLookUp = request.method == .get || request.method == .head
        if request.method.isSafe && !isLookUp { return try await next(request) }
        guard let partition = partition.name(for: context.id, next) else {
            return try await next(request)
        }
        let identity = CacheIdentity(
            request, in: partition, tenant: options.tenant?(request, context),
            fields: options.identityFields)
        guard let keys = CacheKeys(request.targetURI, identity) else {
            return try await next(request)
        }
        let call = CacheCall(
            request: request, keys: keys, context: context, next: next, state: state,
            options: options)
        if !isLookUp { return try await call.change() }
        guard request.body.isEmpty, request.headers.defect == nil, !request.options.isStreaming,
            keys.isStorable
        else { return try await next(request) }
        return try await call.answer()
    }

    /// Reports how the cache answers and sends a request, and the memory that the cache uses.
    ///
    /// A call may send four requests. It may send a shared validation and its own validation. If
    /// the confirmed entry cannot be read any more, the original request follows each validation.
    public func facts(for request: Request?) -> GateFacts? {
        let bounds = state.store.entryBounds
        let most = min(max(options.maxContentBytes, 0), 1 << 60)
        let shared = Int64(options.sharedBytes) + 1
        let disk = bounds.map { min($0.disk, most) }
        var facts = GateFacts(
            "answers with stored responses, and stores responses", .answers(.stored),
            .waits(atMost: nil, reason: "the validation of a stored response"),
            .replays(times: 3), .storesResponses,
            .holdsMemory(atMost: bounds.map { min($0.memory, most) + shared }),
            passedOver: request.flatMap(obstacle))
        if let limit = state.store.claimLimit {
            facts.effects.append(.waits(atMost: limit, reason: "another replica's request"))
        }
        facts.knowsCaller = options.tenant != nil
        facts.lacksPartition = partition.isMissing
        if disk != 0 { facts.effects.append(.holdsDisk(atMost: disk)) }
        return facts
    }

    // The reason why a request does not use the store, or nil if the request uses the store.
    private func obstacle(to request: Request) -> String? {
        let isLookUp = request.method == .get || request.method == .head
        if !isLookUp { return request.method.isSafe ? "\(request.method) is not stored" : nil }
        if !request.body.isEmpty { return "the request has content" }
        return request.options.isStreaming ? "the call streams" : nil
    }

    /// Waits for background refreshes and for the store's writes, and flushes the meter.
    public func shutdown() async {
        await state.background.waitForAll()
        await state.store.flush()
        await state.counts.flush()
    }
}

extension Cache {
    /// The rules for storing and serving.
    public struct Options: Sendable {
        /// The maximum number of content bytes of a stored response, besides the store's own limit.
        public var maxContentBytes: Int64 = 64 << 20

        /// The time after the end of the lifetime in which a stored response may replace an error.
        ///
        /// A `stale-if-error` of the response replaces this value (RFC 5861 §4).
        public var staleIfError: Duration = .zero

        /// The time after the end of the lifetime in which a stored response may be used if the
        /// origin cannot be reached (RFC 9111 §4.2.4).
        ///
        /// A `stale-if-error` of the response replaces this value.
        ///
        /// A stale response that must be validated is never used.
        public var staleIfUnreachable: Duration = .seconds(300)

        /// The time limit of a background refresh.
        public var refreshLimit: Duration = .seconds(30)

        /// The maximum number of bytes of a new response that the callers of one validation share.
        public var maxSharedBytes = 1 << 20
        // The limit prevents an overflow in sums.
        var sharedBytes: Int { min(max(maxSharedBytes, 0), 1 << 40) }

        /// Additional header fields that identify the user, such as `X-User-ID` behind a gateway.
        public var identityFields: Set<HTTPHeaders.Name> = []

        /// Returns the caller's identity, or nil to use the request's credentials and cookies.
        ///
        /// Set this function if inner gates add the credentials. Also set this function if the
        /// credentials of one user change, as with replaced tokens, signatures and Digest.
        public var tenant: (@Sendable (Request, Context) -> String?)?

        /// Creates the default options.
        public init() {}
    }
}

extension Gate where Self == Cache {
    /// Answers requests with stored responses; see ``Cache``.
    public static func cache(_ cache: Cache = Cache()) -> Self { cache }

    /// Answers requests with stored responses; see ``Cache/init(_:options:meter:)``.
    public static func cache(
        _ store: MemoryStore, options: Cache.Options = Cache.Options()
    ) -> Self { Cache(store, options: options) }

    /// Answers requests with stored responses; see ``Cache/init(_:partition:options:meter:)``.
    public static func cache(
        _ store: any CacheStore, partition: String, options: Cache.Options = Cache.Options()
    ) -> Self { Cache(store, partition: partition, options: options) }
}
