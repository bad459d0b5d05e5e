// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// One part of a multipart response (RFC 2046 §5.1).
public struct ReceivedPart: Sendable {
    /// The part's header fields.
    public let headers: HTTPHeaders
    /// The part's content.
    public let content: Data

    /// The part's media type; `text/plain` if it has none.
    public var type: MediaType {
        headers[.contentType].flatMap { MediaType(parsing: $0) } ?? .plainText
    }
}
