// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Where the page after one page is found.
public enum NextPage: Sendable {
    /// By a URL, or a reference that is relative to the URL of the page.
    case reference(String)
    /// By the same request with other query items: those with the same names are replaced.
    ///
    /// ```swift
    /// .query(["cursor": "abc"])
    /// ```
    case query(Query)
    /// By the same request with another body, as a search by POST has it.
    case body(RequestBody)
}

extension NextPage {
    /// The page that a `Link` field with the relation `next` names (RFC 8288), or nil if none does.
    ///
    /// A link from another resource (`anchor`) does not count.
    public init?(linkedFrom head: ResponseHead) {
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
