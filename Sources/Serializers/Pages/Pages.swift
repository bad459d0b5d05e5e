// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

struct Pages<Page: Sendable>: AsyncSequence, Sendable {
    typealias Element = Page
    typealias Failure = any Error

    typealias Read = @Sendable (Call) async throws -> (value: Page, response: Response)
    typealias Next = @Sendable (Page, ResponseHead) throws -> NextPage?

    fileprivate let first: Call
    fileprivate let limit: Int
    fileprivate let read: Read
    fileprivate let next: Next

    init(_ first: Call, limit: Int, read: @escaping Read, next: @escaping Next) {
        self.first = first
        self.limit = Swift.max(limit, 0)
        self.read = read
        self.next = next
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        private enum State {
            case before(Call)
            // The page was read, and the loop has not requested the next page.
            case at(Call, Page, ResponseHead)
            case ended
        }

        private let pages: Pages
        private var state: State
        // The origin of the first request, to which the credentials of the call belong.
        private var origin: Origin?
        private var seen: Set<Data> = []
        private var count = 0

        fileprivate init(_ pages: Pages) {
            self.pages = pages
            state = .before(pages.first)
            origin = pages.first.request.origin
        }

        mutating func next() async throws -> Page? {
            let state = state
            self.state = .ended
            var call: Call
            switch state {
            case .ended: return nil
            case .before(let first): call = first
            case .at(let last, let page, let head):
                guard let next = try pages.next(page, head) else { return nil }
                call = try following(last, next, head)
            }
            let (page, response) = try await pages.read(call)
            count += 1
            if call.request.origin == nil {
                call.request.targetURI = TargetURI(response.hops.first?.url ?? response.url)
                origin = call.request.origin
            }
            self.state = .at(call, page, response.head)
            return page
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> Page? {
            try await next()
        }

        private mutating func following(
            _ last: Call, _ next: NextPage, _ head: ResponseHead
        ) throws -> Call {
            if count >= pages.limit {
                throw ClientError(
                    .tooLarge,
                    "there are more than \(pages.limit) pages; set a higher limit, or stop earlier",
                    response: head)
            }
            if let identity = Self.identity(of: last.request) { seen.insert(identity) }
            var call = last
            if case .reference = next { try admitReference(by: head, for: last.request) }
            try next.apply(to: &call.request, of: head)
            guard let from = origin, let to = call.request.origin, from.isSameOrUpgraded(by: to)
            else {
                throw ClientError(
                    .validation,
                    "the next page has another origin, to which no credentials may go; request this"
                        + " page by a separate call", response: head)
            }
            // The server at a connect target for http may not support https.
            if from != to { call.request.options.connectTarget = nil }
            if let identity = Self.identity(of: call.request), seen.contains(identity) {
                throw ClientError(
                    .validation, "the next page was read before: the server's pages have no end",
                    response: head)
            }
            return call
        }

        // The origin of the last page is checked too, because the last page names the next page.
        private func admitReference(by head: ResponseHead, for request: Request) throws {
            guard let from = origin, let by = TargetURI(head.url).origin,
                from.isSameOrUpgraded(by: by)
            else {
                throw ClientError(
                    .validation,
                    "the page came from another origin, which may not name the next page;"
                        + " begin at that origin", response: head)
            }
            guard request.method.isSafe || request.options.isRetryable == true else {
                throw ClientError(
                    .validation,
                    "the server may not choose where a \(request.method) goes next; name the page by a"
                        + " query or a body of your own, or mark the call as retryable",
                    response: head)
            }
        }

        // Returns nil if the body is not in memory, because only bodies in memory can be compared.
        private static func identity(of request: Request) -> Data? {
            guard let content = request.body.inMemory else { return nil }
            return SHA256.digest(of: Data(request.targetURI.absoluteForm.utf8) + [0] + content)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension NextPage {
    fileprivate func apply(to request: inout Request, of head: ResponseHead) throws {
        switch self {
        case .reference(let reference):
            guard let uri = TargetURI(reference: reference, relativeTo: TargetURI(head.url)) else {
                throw ClientError(
                    .validation, "the reference to the next page is not a valid URL", response: head
                )
            }
            // A server must not choose a user name for the request of the caller.
            request.targetURI = uri.withoutUserInformation
        case .query(let query):
            request.targetURI = request.targetURI.replacing(query)
        case .body(let body):
            request.body = body
        }
    }
}

extension Call {
    /// Returns the pages of a collection, with each page decoded from one response.
    ///
    /// The field `Link: <…>; rel="next"` names the next page (RFC 8288).
    ///
    /// ```swift
    /// for try await issues in client.get("issues").pages(of: [Issue].self) {
    ///     for issue in issues where issue.isOpen { return issue }
    /// }
    /// ```
    ///
    /// Each page is a separate call, with the gates, retries and limits of the first call. The
    /// iterator requests a page when the loop needs the page. The last page is a page without a
    /// link to a next page. Each iterator begins with the first page.
    ///
    /// Credentials of the request never go to another origin. The next page must have the origin of
    /// the first request; a change from http to https is allowed. If a redirect led to a page of
    /// another origin, the iterator refuses a relative reference in that page, because the other
    /// origin would choose a path for the credentials. The iterator follows a reference only if the
    /// method is safe, such as GET, or if the call is ``/TurnpikeCore/Call/retryable(_:)``. This
    /// rule prevents that a server chooses the URL to which a POST is sent again. If the next page
    /// has another origin, was already read, or exceeds the limit, the iterator throws an error
    /// after the last valid page.
    /// - Parameters:
    ///   - type: The type of a page.
    ///   - limit: The maximum number of pages; a further page fails with
    ///     ``/TurnpikeCore/ClientError/Code/tooLarge``.
    /// - Returns: A sequence of pages.
    public func pages<Page: Decodable & Sendable>(
        of type: Page.Type, limit: Int = 1000
    ) -> some AsyncSequence<Page, any Error> & Sendable {
        pages(of: type, limit: limit) { NextPage(linkedFrom: $1) }
    }

    /// Returns the decoded pages of a collection, where a closure finds each next page.
    ///
    /// ```swift
    /// client.get("search").pages(of: Found.self) { page, _ in
    ///     page.cursor.map { .query(["cursor": .init($0)]) }
    /// }
    /// ```
    /// - Parameters:
    ///   - type: The type of a page.
    ///   - limit: The maximum number of pages; a further page fails with
    ///     ``/TurnpikeCore/ClientError/Code/tooLarge``.
    ///   - next: Returns the next page from a page and the head of its response, or nil after the
    ///     last page.
    /// - Returns: A sequence of pages.
    public func pages<Page: Decodable & Sendable>(
        of type: Page.Type, limit: Int = 1000,
        next: @escaping @Sendable (Page, ResponseHead) throws -> NextPage?
    ) -> some AsyncSequence<Page, any Error> & Sendable {
        Pages(self, limit: limit, read: { try await $0.decoded(type) }, next: next)
    }
}

/// Describes the request for the next page.
public enum NextPage: Sendable {
    /// A URL, or a reference that is relative to the URL of the page.
    case reference(String)
    /// The same request with other query items, which replace items with the same names.
    ///
    /// ```swift
    /// .query(["cursor": "abc"])
    /// ```
    case query(Query)
    /// The same request with another body, such as the body of a search by POST.
    case body(RequestBody)
}

extension NextPage {
    /// The page that a `Link` field with the relation `next` names (RFC 8288), or nil.
    ///
    /// A link whose context is another resource (`anchor`) does not count.
    init?(linkedFrom head: ResponseHead) {
        let link = head.headers.links.first { link in
            link.relations.contains("next") && Self.isFromPage(link, head)
        }
        guard let link else { return nil }
        self = .reference(link.reference)
    }

    private static func isFromPage(_ link: Link, _ head: ResponseHead) -> Bool {
        guard let anchor = link.anchor, !anchor.isEmpty else { return true }
        let page = TargetURI(head.url)
        return TargetURI(reference: anchor, relativeTo: page)?.absoluteForm == page.absoluteForm
    }
}
