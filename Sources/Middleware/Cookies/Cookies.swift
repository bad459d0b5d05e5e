// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// Sends cookies, and stores the cookies that servers set.
///
/// Place this gate inside ``Redirect``, because each hop needs the cookies of another host. Place
/// this gate inside ``HSTS`` too, because only https requests get `Secure` cookies. The gate stores
/// the cookies of each final response, including redirects and responses that an inner validator
/// refuses.
///
/// ```swift
/// let jar = CookieJar()
/// let client = Client(transport: transport, stack: [.redirect(), .cookies(jar), .retry(attempts: 3)])
/// ```
///
/// If the caller sets a `Cookie` line, the gate sends that line unchanged, without cookies of the
/// jar. A jar belongs to one identity; use different jars and clients for different users.
public struct Cookies: Interceptor {
    private let storage: any CookieStorage
    // If the storage is a jar, the gate reports write errors of the jar's file.
    private let jar: CookieJar?

    /// Creates a gate that sends and stores cookies.
    /// - Parameter storage: The storage of the cookies; by default a new jar in memory.
    public init(_ storage: any CookieStorage = CookieJar()) {
        self.storage = storage
        jar = storage as? CookieJar
    }

    /// States that the gate keeps cookies and sends the cookies to their origins.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "sends the cookies of its jar, and stores new cookies", .keepsCookies,
            .setsFields([.cookie], .secret(isBound: true)))
    }

    /// Adds the cookies to the request, and stores the cookies of the response.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if let fault = jar?.takeFault() {
            context.report("the file of cookies cannot be written: \(fault)", by: gateName)
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
            // A response that an inner gate refused may also set cookies.
            let outcome = Outcome(request: request, result: .failure(error))
            if let head = outcome.head { take(head, context) }
            throw error
        }
    }

    /// Returns when the cookies are saved.
    public func shutdown() async { await storage.flush() }

    private func take(_ head: ResponseHead, _ context: Context) {
        // The gate stored the cookies of a cached response when that response came from the server.
        guard head.headers.contains(.setCookie), !head.isStored else { return }
        let hasChanged = storage.store(
            head.headers.values(of: .setCookie), from: head.url, at: context.timeSource.date)
        // A redirect to the same URL is not a loop if a cookie has changed.
        if hasChanged, head.status.code / 100 == 3 {
            context[RedirectHints.self].jarChanges += 1
        }
    }
}

extension Cookies: PromptlyCancellable {}

extension Gate where Self == Cookies {
    /// Sends and stores cookies; see ``Cookies``.
    public static func cookies(_ storage: any CookieStorage = CookieJar()) -> Self {
        Cookies(storage)
    }
}

/// Stores cookies for ``Cookies``, and selects the cookies to send with a request.
///
/// A storage other than ``CookieJar`` may keep cookies for each user, or in a database. A custom
/// storage parses lines with ``Cookie/init(setCookie:from:at:suffixes:)``.
public protocol CookieStorage: Sendable {
    /// Returns the cookies to send with a request, in the order in which they are sent.
    ///
    /// The gate calls this method for each hop and attempt. The method must not block.
    func cookies(for request: Request, at date: Date) -> [Cookie]

    /// Stores the cookies from the `Set-Cookie` lines of a response.
    /// - Parameters:
    ///   - lines: The values of the lines, in order.
    ///   - url: The URL of the response.
    ///   - date: The current date.
    /// - Returns: Whether a cookie was added, changed or removed.
    @discardableResult
    func store(_ lines: [String], from url: URL, at date: Date) -> Bool

    /// Returns when all earlier changes are saved.
    func flush() async
}

extension CookieStorage {
    /// Returns immediately.
    public func flush() async {}
}
