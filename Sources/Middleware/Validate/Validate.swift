// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Refuses responses by their status and content type.
///
/// Inside a retry gate, this gate refuses a status before the retry gate decides. Outside a retry
/// gate, this gate checks a response after the retry gate has decided by the status. If a response
/// is refused, the call fails with ``/TurnpikeCore/ClientError/Code/validation``. The error
/// contains the head and the beginning of the content.
/// ``TurnpikeCore/Call/validate(status:contentType:keptBytes:)`` sets other rules for one call.
public struct Validate: ResponseValidator {
    /// The content types that the gate accepts.
    public enum ContentType: Sendable, Hashable {
        /// The types in the request's `Accept`, or any type if the request has no `Accept`.
        ///
        /// The most specific range that contains the type decides.
        case accept
        /// The types in the ranges, or no type if there are no ranges.
        case ranges([MediaType])
        /// Any type, or no type.
        case any
    }

    private let statuses: StatusSet
    private let contentType: ContentType
    private let keptBytes: Int

    /// Creates a gate that refuses responses.
    /// - Parameters:
    ///   - status: The statuses that are accepted.
    ///   - contentType: The content types that are accepted. Empty content is not checked. Content
    ///     without a type is accepted only if every type is accepted.
    ///   - keptBytes: The maximum number of bytes of refused content in the error
    ///     (``/TurnpikeCore/ClientError/responseBody``).
    public init(
        status: StatusSet = .successful, contentType: ContentType = .accept, keptBytes: Int = 4096
    ) {
        statuses = status
        self.contentType = contentType
        self.keptBytes = keptBytes
    }

    /// The request option that sets the rules of one call.
    public var handledOptions: [any RequestOptionKey.Type] { [ValidateOption.self] }

    /// Whether the gate can accept the response by its status alone, without a check of the type.
    public func accepts(_ response: Response, for request: Request, context: Context) -> Bool {
        request.options.isEmpty && statuses.contains(response.status)
            && (contentType == .any
                || contentType == .accept && !request.headers.contains(.accept))
    }

    /// Accepts the response, or throws ``/TurnpikeCore/ClientError/Code/validation``.
    public func validate(_ response: Response, for request: Request, context: Context) throws {
        let rules = request.options[ValidateOption.self] ?? self
        // The server has switched protocols, and the request asked for the switch.
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

    /// Returns the number of bytes that the call sets, or the gate's own number by default.
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
            "the content type \(Grammar.escaped(text, upTo: 100)) is not accepted; expected"
                + " \(Self.list(ranges))", response: response.head)
    }

    // The most specific range that contains the type decides. A range with weight 0 refuses the
    // type (RFC 9110 §12.5.1). Content without a type needs the range `*/*`.
    private static func accepts(_ type: MediaType?, in ranges: [MediaType]) -> Bool {
        let found = ranges.filter { range in
            type.map { range.contains($0) } ?? (range.essence == "*/*")
        }
        if let closest = found.map(closeness).max() {
            return found.contains { closeness($0) == closest && $0.quality > 0 }
        }
        // If all ranges have weight 0, the gate accepts all other types.
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

enum ValidateOption: RequestOptionKey {
    /// The option contains a whole gate with the rules of the call.
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
    /// Sets rules for the response of this call, in place of the client's rules.
    public func validate(
        status: StatusSet = .successful, contentType: Validate.ContentType = .accept,
        keptBytes: Int = 4096
    ) -> Call {
        option(
            ValidateOption.self,
            Validate(status: status, contentType: contentType, keptBytes: keptBytes))
    }
}

/// A set of statuses: ranges and single codes.
///
/// ```swift
/// .validate(status: [200, 404])
/// .validate(status: .range(200..<400))
/// ```
public struct StatusSet: Sendable, Hashable, ExpressibleByArrayLiteral {
    private let ranges: [ClosedRange<Int>]

    /// Creates a set of status codes.
    public init(arrayLiteral codes: Int...) { ranges = codes.map { $0...$0 } }

    /// Creates a set of ranges of status codes.
    public init(_ ranges: [ClosedRange<Int>]) { self.ranges = ranges }

    /// The codes 200 to 299.
    public static let successful = StatusSet([200...299])

    /// Returns the set of all codes of a range.
    public static func range(_ range: Range<Int>) -> StatusSet {
        StatusSet(range.isEmpty ? [] : [range.lowerBound...range.upperBound - 1])
    }

    func contains(_ status: HTTPStatus) -> Bool {
        ranges.contains { $0.contains(status.code) }
    }
}
