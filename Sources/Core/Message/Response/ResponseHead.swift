// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// The head of a response, which arrives before the content.
public struct ResponseHead: Sendable, Hashable {
    /// The status.
    public let status: HTTPStatus
    /// The header fields.
    public var headers: HTTPHeaders
    /// The URL that responded, after redirects.
    public let url: URL
    /// The protocol version (`1.1`, `2`), if the transport knows it.
    public let version: String?

    /// Whether the response was stored earlier, so that its cookies and its HSTS policy were
    /// already processed.
    public var isStored = false

    /// Creates a head.
    public init(status: HTTPStatus, headers: HTTPHeaders = [:], url: URL, version: String? = nil) {
        self.status = status
        self.headers = headers
        self.url = url
        self.version = version
    }
}

extension ResponseHead: DescriptionReflectable {
    /// The status and the header fields without secrets.
    public var description: String {
        (["\(status) from \(Redaction.standard.url(url))"] + headers.redactedLines())
            .joined(separator: "\n")
    }
}
