// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A redirect that was followed.
public struct Hop: Sendable, Hashable {
    /// The status of the redirecting response.
    public let status: HTTPStatus
    /// The URL that redirected.
    public let url: URL

    /// Creates a hop.
    package init(status: HTTPStatus, url: URL) {
        self.status = status
        self.url = url
    }
}

extension Hop: DescriptionReflectable {
    /// The status and the URL without secrets.
    public var description: String { "\(status) from \(Redaction.standard.url(url))" }
}
