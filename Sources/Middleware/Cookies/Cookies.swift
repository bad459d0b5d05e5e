// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// Sends cookies, and stores those that servers set.
///
/// Place it inside ``Redirect``, so that each hop gets the cookies of its own host, and
/// inside ``HSTS``, so that `Secure` cookies are sent with upgraded requests. Cookies are stored
/// from each final response, even from a redirect or a response that a validator inside refuses.
///
/// ```swift
/// let jar = CookieJar()
/// let client = Client(transport: transport, stack: [.redirect(), .cookies(jar), .retry(attempts: 3)])
/// ```
///
/// A `Cookie` line that the caller sets is sent unchanged, without cookies of the jar. A jar
/// belongs to one identity: calls for different users need different jars and clients.
public struct Cookies: Interceptor {
    private let storage: any CookieStorage
    // The storage, if it is a jar; a jar may have to report a fault of its file.
    private let jar: CookieJar?

    /// Creates a gate that sends and stores cookies.
    /// - Parameter storage: Where the cookies are kept; by default a new jar in memory.
    public init(_ storage: any CookieStorage = CookieJar()) {
        self.storage = storage
        jar = storage as? CookieJar
    }

    /// States that the gate keeps cookies and sends them to their origins.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "sends the cookies of its jar, and stores those of responses", .keepsCookies,
            .setsFields([.cookie], .secret(isBound: true)))
    }

    /// Adds the cookies to the request, and stores those of the response.
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
            // A response that was refused has set its cookies, too.
            let outcome = Outcome(request: request, result: .failure(error))
            if let head = outcome.head { take(head, context) }
            throw error
        }
    }

    /// Waits until the cookies are saved.
    public func shutdown() async { await storage.flush() }

    private func take(_ head: ResponseHead, _ context: Context) {
        // The cookies of a stored response were set when it first came.
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
/// ``CookieJar`` is one implementation. Another storage may keep cookies for each user, or in a
/// database; it parses lines with ``Cookie/init(setCookie:from:at:suffixes:)``.
public protocol CookieStorage: Sendable {
    /// The cookies to send with a request, in the order in which they are sent.
    ///
    /// It is called for each hop and attempt, and must not block.
    func cookies(for request: Request, at date: Date) -> [Cookie]

    /// Stores the cookies from the `Set-Cookie` lines of a response.
    /// - Parameters:
    ///   - lines: The values of the lines, in order.
    ///   - url: The URL of the response.
    ///   - date: The current date.
    /// - Returns: Whether a cookie was added, changed or removed.
    @discardableResult
    func store(_ lines: [String], from url: URL, at date: Date) -> Bool

    /// Returns when all changes so far are saved.
    func flush() async
}

extension CookieStorage {
    /// Returns at once.
    public func flush() async {}
}
