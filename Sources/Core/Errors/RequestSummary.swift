// SPDX-License-Identifier: Apache-2.0

/// A request as it was sent, redacted for printing.
public struct RequestSummary: Hashable, Sendable, CustomStringConvertible {
    /// The method.
    public let method: HTTPMethod
    /// The URL with secrets redacted.
    public let url: String
    /// The header fields in order, with secrets redacted.
    public let headers: HTTPHeaders

    /// Creates a summary, redacted by the given rules.
    public init(_ request: Request, redaction: Redaction = .standard) {
        method = request.method
        url = request.targetURI.redacted(redaction)
        headers = HTTPHeaders(
            request.headers.map { ($0.name.rawValue, redaction.value(of: $0)) })
    }

    /// The method and the URL: `GET https://example.com/?token=REDACTED`.
    public var description: String { "\(method) \(url)" }
}
