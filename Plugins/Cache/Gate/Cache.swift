public import TurnpikeCore
public import TurnpikeMiddleware

/// Answers requests from what was answered before: a private HTTP cache (RFC 9111).
///
/// ```swift
/// let cache = Cache(TieredStore(MemoryStore(), try DiskStore(directory: path)))
/// let client = Client(stack: [.redirect(), .cookies(jar), .cache(cache), .retry(), .validate()])
/// ```
///
/// Place it inside ``/TurnpikeMiddleware/Redirect`` and ``/TurnpikeMiddleware/Cookies``, so that each
/// hop is looked up by itself and cookies are part of the request; and outside retries, limits and
/// what identifies all calls of the client alike. What tells users apart must be in the request when
/// it comes here, or be given by ``Options/tenant``: what is one user's is found by no other.
/// <doc:WhoseResponses> says what that is.
///
/// Content is stored as its reader pulls it, and found once it was read to its end. What the cache
/// did stands in `Cache-Status` (RFC 9211) on each response, in ``statistics``, and in the notes that
/// loggers get.
public struct Cache: Interceptor {
    let state: CacheState
    let options: Options

    /// Creates a cache.
    /// - Parameters:
    ///   - store: Where responses are kept; in memory, if none is given.
    ///   - options: What is stored and served.
    ///   - meter: Takes what ``statistics`` counts, as `turnpike.cache.…`.
    public init(
        _ store: any CacheStore = MemoryStore(), options: Options = Options(),
        meter: (any GateMeter)? = nil
    ) {
        self.init(state: CacheState(store: store, meter: meter), options: options)
    }

    init(state: CacheState, options: Options = Options()) {
        self.state = state
        self.options = options
    }

    /// Answers the request from the store, or stores what answers it.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let isLookUp = request.method == .get || request.method == .head
        if request.method.isSafe && !isLookUp { return try await next(request) }
        let identity = CacheIdentity(
            request, tenant: options.tenant?(request, context), fields: options.identityFields)
        guard let keys = CacheKeys(request.url, identity) else { return try await next(request) }
        let call = CacheCall(
            request: request, keys: keys, context: context, next: next, state: state,
            options: options)
        if !isLookUp { return try await call.change() }
        guard request.body.isEmpty, request.headers.defect == nil, !request.options.isStreaming,
            keys.isStorable
        else { return try await next(request) }
        return try await call.answer()
    }

    /// Waits for what is asked for anew in the background, and until what was stored is safe; then
    /// writes what the meter holds, where a stack file named the place.
    public func shutdown() async {
        await state.background.waitForAll()
        await state.store.flush()
        await state.counts.flush()
    }
}

extension Cache {
    /// What a cache stores and serves.
    public struct Options: Sendable {
        /// The most bytes of one response's content that are stored; the store may want less.
        public var maxContentBytes: Int64 = 64 << 20

        /// For how long after its lifetime a response may stand in for an error, where it does not
        /// say so itself (RFC 5861 §4).
        public var staleIfError: Duration = .zero

        /// For how long after its lifetime a response may stand in where its origin cannot be reached,
        /// if it does not say so itself (RFC 9111 §4.2.4); never for one that must be validated.
        public var staleIfUnreachable: Duration = .seconds(300)

        /// How long one refresh in the background may take.
        public var refreshLimit: Duration = .seconds(30)

        /// The most bytes of a changed response that callers who wait for one revalidation share.
        public var maxSharedBytes = 1 << 20

        /// Header fields that tell who asks, beyond those that the cache knows: `X-User-ID` behind a
        /// gateway, for instance.
        public var identityFields: Set<HTTPHeaders.Name> = []

        /// Names who asks, in the place of all that the request tells of it; where it returns nil, the
        /// request decides.
        ///
        /// It is for credentials that gates inside the cache set, and for those that change while the
        /// user is the same: tokens that are replaced, signatures, Digest.
        public var tenant: (@Sendable (Request, Context) -> String?)?

        /// Creates the default options.
        public init() {}
    }
}

extension Gate where Self == Cache {
    /// Answers requests from what was answered before; see ``Cache``.
    public static func cache(_ cache: Cache = Cache()) -> Self { cache }

    /// Answers requests from what was answered before; see ``Cache/init(_:options:meter:)``.
    public static func cache(
        _ store: any CacheStore, options: Cache.Options = Cache.Options()
    ) -> Self { Cache(store, options: options) }
}
