// SPDX-License-Identifier: Apache-2.0

package import Foundation
import TurnpikeSupport

extension ClientError {
    /// Creates the error for content that could not be converted into a value.
    package static func serialization(
        _ error: any Error, of head: ResponseHead, content: Data
    ) -> ClientError {
        if let error = error as? ClientError {
            return error.completed(response: head)
        }
        let type =
            head.headers[.contentType].map { " (\(Grammar.escaped($0, upTo: 100)))" } ?? ""
        return ClientError(
            .serialization, "the content\(type) cannot be read: \(Self.reason(error))",
            underlying: error, response: head, responseBody: content.prefix(1024),
            isResponseBodyCut: content.count > 1024)
    }

    // The coding path is more useful than the description, which quotes the content.
    private static func reason(_ error: any Error) -> String {
        (error as? DecodingError).map(reason) ?? String(describing: error)
    }

    /// Returns the reason of a decoding error without the content.
    static func reason(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context):
            return "\(path(context.codingPath)) is not of type \(type)"
        case .valueNotFound(let type, let context):
            return "\(path(context.codingPath)) is null instead of \(type)"
        case .keyNotFound(let key, let context):
            return "\(path(context.codingPath + [key])) is missing"
        case .dataCorrupted(let context):
            return "\(path(context.codingPath)) is not valid"
        @unknown default: return "it does not match the expected type"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        if keys.isEmpty { return "the content" }
        return keys.reduce("$") { text, key in
            key.intValue.map { "\(text)[\($0)]" } ?? "\(text).\(key.stringValue)"
        }
    }
}
