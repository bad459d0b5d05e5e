// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// Stores cookies for ``Cookies``, and selects the ones to send with a request.
///
/// ``CookieJar`` is one implementation. Another may keep cookies for each user, or in a database;
/// it parses lines with ``Cookie/init(setCookie:from:at:suffixes:)``.
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
