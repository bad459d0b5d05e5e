// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Decides which responses may have no content.
public struct EmptyContentRule: Sendable {
    private let statuses: Set<HTTPStatus>?
    private let methods: Set<HTTPMethod>
    private(set) var countsBlanks = false

    /// Creates a rule that allows empty content for these statuses and for responses to these
    /// methods.
    public init(statuses: Set<HTTPStatus> = [204, 205], methods: Set<HTTPMethod> = [.head]) {
        self.statuses = statuses
        self.methods = methods
    }

    private init() {
        statuses = nil
        methods = []
    }

    /// Allows any response to be empty.
    public static let any = EmptyContentRule()

    /// Returns the same rule, which also treats up to 16 whitespace bytes as empty.
    ///
    /// Some frameworks send whitespace instead of nothing.
    public func countingBlanks() -> Self {
        var copy = self
        copy.countsBlanks = true
        return copy
    }

    func allows(_ response: Response, to request: Request) -> Bool {
        statuses?.contains(response.status) ?? true || methods.contains(request.method)
    }
}

/// A serializer with a value for responses that have no content.
struct EmptyValueSerializer<Base: ResponseSerializer>: ResponseSerializer {
    private let base: Base
    private let value: Base.Output
    private let rule: EmptyContentRule

    private static var maxBlanks: Int { 16 }

    init(_ base: Base, _ value: Base.Output, _ rule: EmptyContentRule) {
        self.base = base
        self.value = value
        self.rule = rule
    }

    /// The media types that the base serializer accepts.
    func accept(in table: SerializerTable) -> [MediaType] { base.accept(in: table) }

    /// The number of bytes that the base serializer collects.
    func collectedBytes(in table: SerializerTable) -> Int { base.collectedBytes(in: table) }

    /// Returns the value for no content, or the value of the base serializer.
    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> Base.Output {
        guard rule.allows(response, to: context.request) else {
            return try await base.serialize(response, context: context)
        }
        var response = response
        let wanted = rule.countsBlanks ? Self.maxBlanks + 1 : 1
        let start = try await response.body.peek(upTo: wanted)
        let isBlank =
            start.count <= Self.maxBlanks
            && start.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        if start.isEmpty || rule.countsBlanks && isBlank { return value }
        return try await base.serialize(response, context: context)
    }
}

extension ResponseSerializer {
    /// Returns the same serializer, with a value for responses that have no content.
    /// - Parameters:
    ///   - value: The value.
    ///   - rule: The responses that may have no content.
    /// - Returns: The serializer.
    public func valueForEmpty(
        _ value: Output, where rule: EmptyContentRule = EmptyContentRule()
    ) -> some ResponseSerializer<Output> { EmptyValueSerializer(self, value, rule) }
}
