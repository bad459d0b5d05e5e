// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Request: DescriptionReflectable, CustomDebugStringConvertible {
    /// The method and the URL without secrets.
    public var description: String { "\(method) \(targetURI)" }

    /// The method, the URL, the header fields without secrets, and the size of the body.
    public var debugDescription: String {
        ([description] + headers.redactedLines() + ["[\(body)]"]).joined(separator: "\n")
    }
}

extension HTTPHeaders: DescriptionReflectable {
    /// The field lines, without secrets.
    public var description: String { redactedLines().joined(separator: "\n") }

    func redactedLines(_ redaction: Redaction = .standard) -> [String] {
        fields.map { "\($0.name): \(redaction.value(of: $0))" }
    }
}

extension HTTPHeaders.Field: DescriptionReflectable {
    /// The field line, without secrets.
    public var description: String { "\(name): \(Redaction.standard.value(of: self))" }
}

extension Target: DescriptionReflectable {
    /// The target without user information and secret query items.
    public var description: String {
        written.map { Redaction.standard.url($0) } ?? "(invalid target)"
    }
}

extension TargetURI: DescriptionReflectable {
    /// The URI without secrets.
    public var description: String { redacted(.standard) }

    /// The URI without the parts that the rules hide.
    public func redacted(_ redaction: Redaction) -> String {
        fault == nil ? redaction.url(text) : "(invalid URL)"
    }
}

extension Query: DescriptionReflectable {
    /// The encoded query without the values of secret items.
    public var description: String { Redaction.standard.url("?" + encoded) }
}

extension Query.Item: DescriptionReflectable {
    /// The encoded item without a secret value.
    public var description: String { Query([self]).description }
}

extension Response: DescriptionReflectable {
    /// The head without secrets.
    public var description: String { head.description }
}

extension ResponseHead: DescriptionReflectable {
    /// The status and the header fields without secrets.
    public var description: String {
        (["\(status) from \(Redaction.standard.url(url))"] + headers.redactedLines())
            .joined(separator: "\n")
    }
}

extension Hop: DescriptionReflectable {
    /// The status and the URL without secrets.
    public var description: String { "\(status) from \(Redaction.standard.url(url))" }
}

/// A request as sent, without secrets, for output.
public struct RequestSummary: Hashable, Sendable, CustomStringConvertible {
    /// The method.
    public let method: HTTPMethod
    /// The URL without secrets.
    public let url: String
    /// The header fields in order, without secrets.
    public let headers: HTTPHeaders

    /// Creates a summary without the secrets that the rules define.
    public init(_ request: Request, redaction: Redaction = .standard) {
        method = request.method
        url = request.targetURI.redacted(redaction)
        headers = HTTPHeaders(
            request.headers.map { ($0.name.rawValue, redaction.value(of: $0)) })
    }

    /// The method and the URL: `GET https://example.com/?token=REDACTED`.
    public var description: String { "\(method) \(url)" }
}
