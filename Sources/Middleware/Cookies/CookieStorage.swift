public import Foundation
public import TurnpikeCore

/// What ``Cookies`` asks for the cookies of a request and tells of those that a server sets.
///
/// ``CookieJar`` is one. Another may keep cookies for each user, or in a database; it reads lines
/// with ``Cookie/init(setCookie:from:at:suffixes:)``.
public protocol CookieStorage: Sendable {
    /// The cookies to send with a request, in the order in which they are sent.
    ///
    /// It is asked for each hop and attempt, and must not block.
    func cookies(for request: Request, at date: Date) -> [Cookie]

    /// Takes the `Set-Cookie` lines of a response.
    /// - Parameters:
    ///   - lines: The values of the lines, in order.
    ///   - url: The URL that answered.
    ///   - date: The present.
    /// - Returns: Whether a cookie was added, changed or removed.
    @discardableResult
    func store(_ lines: [String], from url: URL, at date: Date) -> Bool

    /// Returns when all changes so far are safe.
    func flush() async
}

extension CookieStorage {
    /// Returns at once.
    public func flush() async {}
}
