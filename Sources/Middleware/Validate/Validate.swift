// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Refuses responses by their status and content type.
///
/// Inside a retry, it refuses a status before the retry decides about it. Outside, the retry sees
/// the status itself. A refused response fails as ``/TurnpikeCore/ClientError/Code/validation``,
/// with the head and the beginning of the content.
/// ``TurnpikeCore/Call/validate(status:contentType:keptBytes:)`` sets other rules for one call.
public struct Validate: ResponseValidator {
    /// Which content types are accepted.
    public enum ContentType: Sendable, Hashable {
        /// The types in the request's `Accept`, whose most specific range decides; any type if the
        /// request has no `Accept`.
        case accept
        /// The types in the given ranges; none if there are no ranges.
        case ranges([MediaType])
        /// Any type, or none.
        case any
    }

    private let statuses: StatusSet
    private let contentType: ContentType
    private let keptBytes: Int

    /// Creates a gate that refuses responses.
    /// - Parameters:
    ///   - status: The statuses that are accepted.
    ///   - contentType: The content types that are accepted. Empty content is not checked; content
    ///     without a type is accepted only if every type is accepted.
    ///   - keptBytes: How many bytes of refused content the error keeps, for
    ///     ``/TurnpikeCore/ClientError/responseBody``.
    public init(
        status: StatusSet = .successful, contentType: ContentType = .accept, keptBytes: Int = 4096
    ) {
        statuses = status
        self.contentType = contentType
        self.keptBytes = keptBytes
    }

    /// The option that sets the rules of one call.
    public var handledOptions: [any RequestOptionKey.Type] { [ValidateOption.self] }

    /// Whether the status is right, and the content type does not matter.
    public func accepts(_ response: Response, for request: Request, context: Context) -> Bool {
        request.options.isEmpty && statuses.contains(response.status)
            && (contentType == .any
                || contentType == .accept && !request.headers.contains(.accept))
    }

    /// Accepts the response, or throws ``/TurnpikeCore/ClientError/Code/validation``.
    public func validate(_ response: Response, for request: Request, context: Context) throws {
        let rules = request.options[ValidateOption.self] ?? self
        // The server has done what was asked.
        if response.status == 101, request.options.upgrade != nil { return }
        guard rules.statuses.contains(response.status) else {
            throw ClientError(
                .validation, "the status \(response.status) is not accepted",
                response: response.head)
        }
        try rules.checkContentType(of: response, for: request)
    }

    /// States that the gate refuses responses, and how much content an error keeps.
    public func facts(for request: Request?) -> GateFacts? {
        let rules = request?.options[ValidateOption.self] ?? self
        return GateFacts(
            "refuses responses by status and content type", .rejectsResponses,
            .holdsMemory(atMost: Int64(max(rules.keptBytes, 0))))
    }

    /// The number that the call has set or, without one, the number of the gate.
    public func keptBytes(for request: Request) -> Int {
        (request.options[ValidateOption.self] ?? self).keptBytes
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

    // The most specific range that contains the type decides; a weight of 0 refuses it (RFC 9110
    // §12.5.1). Content without a type needs the range `*/*`.
    private static func accepts(_ type: MediaType?, in ranges: [MediaType]) -> Bool {
        let found = ranges.filter { range in
            type.map { range.contains($0) } ?? (range.essence == "*/*")
        }
        if let closest = found.map(closeness).max() {
            return found.contains { closeness($0) == closest && $0.quality > 0 }
        }
        // If all ranges refuse types, all other types are accepted.
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
enum ValidateOption: RequestOptionKey {
    /// The gate that applies the option: the rules themselves.
    static func gate(for value: Validate) -> (any Gate)? { value }
}

extension Validate: PromptlyCancellable {}

extension Gate where Self == Validate {
    /// Refuses responses; see ``Validate/init(status:contentType:keptBytes:)``.
    public static func validate(
        status: StatusSet = .successful, contentType: Validate.ContentType = .accept,
        keptBytes: Int = 4096
    ) -> Self { Validate(status: status, contentType: contentType, keptBytes: keptBytes) }
}

extension Call {
    /// Refuses this call's response by rules other than the client's.
    public func validate(
        status: StatusSet = .successful, contentType: Validate.ContentType = .accept,
        keptBytes: Int = 4096
    ) -> Call {
        option(
            ValidateOption.self,
            Validate(status: status, contentType: contentType, keptBytes: keptBytes))
    }
}
