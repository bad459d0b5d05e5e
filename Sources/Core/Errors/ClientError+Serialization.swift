// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

extension ClientError {
    /// Creates the error for content that could not be converted into a value.
    public static func serialization(
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

    // The coding path is more useful than the description, which contains parts of the content.
    private static func reason(_ error: any Error) -> String {
        (error as? DecodingError).map(reason) ?? String(describing: error)
    }

    static func reason(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context):
            let kind = found(context.debugDescription).map { " but \($0)" } ?? ""
            return "\(path(context.codingPath)) is not of type \(type)" + kind
        case .valueNotFound(let type, let context):
            return "\(path(context.codingPath)) is null instead of \(type)"
        case .keyNotFound(let key, let context):
            return "\(path(context.codingPath + [key])) is missing"
        case .dataCorrupted(let context):
            return "\(path(context.codingPath)) "
                + fault(context.debugDescription, isTop: context.codingPath.isEmpty)
        @unknown default: return "the value does not match the expected type"
        }
    }

    // Only words of Foundation from this list are used, because the texts of decoders may contain
    // parts of the content.
    private static func found(_ text: String) -> String? {
        let kinds = [
            ("a string", "a string"), ("a dictionary", "an object"), ("an array", "an array"),
            ("number", "a number"), ("a number", "a number"), ("bool", "a boolean"),
            ("a boolean", "a boolean"), ("null", "null"), ("a date", "a date"),
            ("a data value", "data"),
        ]
        return kinds.first { text.hasSuffix(" but found \($0.0) instead.") }?.1
    }

    private static func fault(_ text: String, isTop: Bool) -> String {
        let verb = isTop ? "has" : "is"
        if text.contains("does not fit in") {
            return "\(verb) a number that the type cannot hold"
        }
        if text.contains("ISO8601") {
            return "\(verb) a date that is not in the form of ISO 8601"
        }
        return "is not valid"
    }

    // A name may come from the server. The text contains only both ends of a deep path.
    private static func path(_ keys: [any CodingKey]) -> String {
        if keys.isEmpty { return "the content" }
        let parts = keys.map { key in
            key.intValue.map { "[\($0)]" } ?? "." + Grammar.escaped(key.stringValue, upTo: 64)
        }
        if parts.count <= 12 { return "$" + parts.joined() }
        return "$" + parts.prefix(6).joined() + "…" + parts.suffix(6).joined()
    }
}
