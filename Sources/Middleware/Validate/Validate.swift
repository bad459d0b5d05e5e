public import TurnpikeCore

/// Refuses responses by their status and content type.
///
/// Inside a retry, a refused status can be tried again; outside, the retry still sees it. The error
/// is ``/TurnpikeCore/ClientError/Code/validation`` with the head and up to 4 KiB of the content.
/// ``TurnpikeCore/Call/validate(status:contentType:)`` sets other rules for one call.
public struct Validate: ResponseValidator {
    /// Which content types are accepted.
    public enum ContentType: Sendable, Hashable {
        /// Those of the request's `Accept`; any where it has none.
        case accept
        /// Those in the given ranges.
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
        case .accept: ranges = request.headers[.accept].map(MediaType.list) ?? []
        }
        let accepted = ranges.filter { $0.quality > 0 }
        if accepted.isEmpty || accepted.contains(where: { $0.essence == "*/*" }) { return }
        if response.body.isEmpty || response.status.hasNoContent || request.method == .head {
            return
        }
        guard let text = response.headers[.contentType] else {
            throw ClientError(
                .validation, "the content has no type, and only \(Self.list(accepted)) is accepted",
                response: response.head)
        }
        guard let type = MediaType(parsing: text), accepted.contains(where: { $0.contains(type) })
        else {
            throw ClientError(
                .validation,
                "the content type \(Grammar.escaped(text, upTo: 100)) is not accepted, only"
                    + " \(Self.list(accepted))", response: response.head)
        }
    }

    private static func list(_ ranges: [MediaType]) -> String {
        ranges.map(\.essence).joined(separator: ", ")
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
