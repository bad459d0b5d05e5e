/// What a request looked like when it was sent, fit to be printed: secrets are already gone.
public struct RequestSummary: Hashable, Sendable, CustomStringConvertible {
    /// The method.
    public let method: HTTPMethod
    /// The URL with secrets redacted.
    public let url: String
    /// The header fields in order, with secrets redacted.
    public let headers: HTTPHeaders

    /// Summarises a request by the given rules.
    public init(_ request: Request, redaction: Redaction = .standard) {
        method = request.method
        url = request.redactedTarget(redaction)
        headers = HTTPHeaders(
            request.headers.map { ($0.name.rawValue, redaction.value(of: $0)) })
    }

    /// Method and URL: `GET https://example.com/?token=REDACTED`.
    public var description: String { "\(method) \(url)" }
}
