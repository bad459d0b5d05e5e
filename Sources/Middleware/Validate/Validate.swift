public import TurnpikeCore

/// Refuses responses by their status and content type.
///
/// Inside a retry, a refused status can be tried again; outside, the retry still sees it. The error
/// is ``/TurnpikeCore/ClientError/Code/validation`` with the head and up to 4 KiB of the content.
/// ``TurnpikeCore/Call/validate(status:contentType:)`` sets other rules for one call.
public struct Validate: ResponseValidator {
    /// Which content types are accepted.
    public enum ContentType: Sendable, Hashable {
        /// Those of the request's `Accept`, of which the most specific range decides; any where it
        /// has none.
        case accept
        /// Those in the given ranges; none where there are no ranges.
        case ranges([MediaType])
        /// Any, or none.
        case any
    }

    private let statuses: StatusSet
    private let contentType: ContentType

    /// Creates a gate that refuses responses.
    /// - Parameters:
    ///   - status: The statuses that are accepted.
    ///   - contentType: The content types that are accepted. Content that is empty has none;
    ///     content without a type is accepted only where any is.
    public init(status: StatusSet = .successful, contentType: ContentType = .accept) {
        statuses = status
        self.contentType = contentType
    }

    /// The rules of one call.
    public var handledOptions: [any RequestOptionKey.Type] { [ValidateOption.self] }

    /// Returns, or throws ``/TurnpikeCore/ClientError/Code/validation``.
    public func validate(_ response: Response, for request: Request, context: Context) throws {
        let rules = request.options[ValidateOption.self] ?? self
        guard rules.statuses.contains(response.status) else {
            throw ClientError(
                .validation, "the status \(response.status) is not accepted",
                response: response.head)
        }
        try rules.checkContentType(of: response, for: request)
    }

    private func checkContentType(of response: Response, for request: Request) throws {
        let ranges: [MediaType]
        switch contentType {
        case .any: return
        case .ranges(let given): ranges = given
        case .accept:
            ranges = request.headers[.accept].map(MediaType.list) ?? []
            if ranges.isEmpty { return }
        }
        if response.body.isEmpty || response.status.hasNoContent || request.method == .head {
            return
        }
        let text = response.headers[.contentType]
        if Self.accepts(text.flatMap { MediaType(parsing: $0) }, in: ranges) { return }
        guard let text else {
            throw ClientError(
                .validation, "the content has no type, and only \(Self.list(ranges)) is accepted",
                response: response.head)
        }
        throw ClientError(
            .validation,
            "the content type \(Grammar.escaped(text, upTo: 100)) is not accepted, only"
                + " \(Self.list(ranges))", response: response.head)
    }

    // The closest of the ranges that a type falls under decides, weight 0 means that it is refused
    // (RFC 9110 §12.5.1); what is no type needs a range of all.
    private static func accepts(_ type: MediaType?, in ranges: [MediaType]) -> Bool {
        let found = ranges.filter { range in
            type.map { range.contains($0) } ?? (range.essence == "*/*")
        }
        if let closest = found.map(closeness).max() {
            return found.contains { closeness($0) == closest && $0.quality > 0 }
        }
        // Where ranges only exclude, the rest is accepted.
        return type != nil && !ranges.isEmpty && ranges.allSatisfy { $0.quality == 0 }
    }

    private static func closeness(_ range: MediaType) -> Int {
        let subtype = range.subtype == "*" ? 0 : range.subtype.hasPrefix("*") ? 1 : 2
        return (range.type == "*" ? 0 : 3) + subtype
    }

    private static func list(_ ranges: [MediaType]) -> String {
        let accepted = ranges.filter { $0.quality > 0 }.map(\.essence)
        if !accepted.isEmpty { return accepted.joined(separator: ", ") }
        let refused = ranges.map { "not " + $0.essence }
        return refused.isEmpty ? "none" : refused.joined(separator: ", ")
    }
}

/// The rules of one call.
public enum ValidateOption: RequestOptionKey {
    /// The rules themselves.
    public static func gate(for value: Validate) -> (any Gate)? { value }
}

extension Validate: Heeding {}

extension Gate where Self == Validate {
    /// Refuses responses; see ``Validate/init(status:contentType:)``.
    public static func validate(
        status: StatusSet = .successful, contentType: Validate.ContentType = .accept
    ) -> Self { Validate(status: status, contentType: contentType) }
}

extension Call {
    /// Refuses this call's response by other rules than the client's.
    public func validate(
        status: StatusSet = .successful, contentType: Validate.ContentType = .accept
    ) -> Call {
        option(ValidateOption.self, Validate(status: status, contentType: contentType))
    }
}
