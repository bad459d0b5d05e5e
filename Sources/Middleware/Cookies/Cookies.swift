public import TurnpikeCore

/// Sends cookies, and keeps those that servers set.
///
/// Place it inside ``Redirect``, so that each hop gets the cookies of its own host, and inside
/// ``HSTS``, so that `Secure` cookies go along where it upgrades. Cookies are taken from every final
/// response, also from one that redirects or that a validator inside refuses.
///
/// ```swift
/// let jar = CookieJar()
/// let client = Client(transport: transport, stack: [.redirect(), .cookies(jar), .retry(attempts: 3)])
/// ```
///
/// A `Cookie` line that the caller sets is sent as it is, without cookies of the jar. A jar belongs
/// to one identity: calls for different users need jars, and clients, of their own.
public struct Cookies: Interceptor {
    private let storage: any CookieStorage
    // The storage, if it may have news of its file.
    private let jar: CookieJar?

    /// Creates a gate that sends and keeps cookies.
    /// - Parameter storage: Where they are kept; a jar of its own, in memory, if none is given.
    public init(_ storage: any CookieStorage = CookieJar()) {
        self.storage = storage
        jar = storage as? CookieJar
    }

    /// Adds the cookies, and takes those of the response.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if let news = jar?.takeNews() {
            context.note(gate: name, "the file of cookies is not written: \(news)")
        }
        var request = request
        if !request.headers.contains(.cookie) {
            let cookies = storage.cookies(for: request, at: context.timeSource.date)
            if !cookies.isEmpty {
                request.headers[.cookie] = cookies.map(\.pair).joined(separator: "; ")
            }
        }
        do {
            let response = try await next(request)
            take(response.head, context)
            return response
        } catch {
            // A refused response came none the less.
            let outcome = Outcome(request: request, result: .failure(error))
            if let head = outcome.head { take(head, context) }
            throw error
        }
    }

    /// Waits until the cookies are safe.
    public func shutdown() async { await storage.flush() }

    private func take(_ head: ResponseHead, _ context: Context) {
        // What a cache gives again was set when it came.
        guard head.headers.contains(.setCookie), !head.isStored else { return }
        let hasChanged = storage.store(
            head.headers.values(of: .setCookie), from: head.url, at: context.timeSource.date)
        // A redirect to the same URL is no circle where a cookie makes the difference.
        if hasChanged, head.status.code / 100 == 3 {
            context[RedirectHints.self].jarChanges += 1
        }
    }
}

extension Cookies: Heeding {}

extension Gate where Self == Cookies {
    /// Sends and keeps cookies; see ``Cookies``.
    public static func cookies(_ storage: any CookieStorage = CookieJar()) -> Self {
        Cookies(storage)
    }
}
