public import TurnpikeCore

/// Where it is right that a response has no content.
public struct EmptyContentRule: Sendable {
    private let statuses: Set<HTTPStatus>?
    private let methods: Set<HTTPMethod>
    private(set) var countsBlanks = false

    /// Creates a rule: a response may be empty if its status is one of these, or if it answers one
    /// of these methods.
    public init(statuses: Set<HTTPStatus> = [204, 205], methods: Set<HTTPMethod> = [.head]) {
        self.statuses = statuses
        self.methods = methods
    }

    private init() {
        statuses = nil
        methods = []
    }

    /// Any response may be empty.
    public static let any = EmptyContentRule()

    /// The same rule, where up to 16 blanks count as empty: what some frameworks send for nothing.
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
public struct EmptyValueSerializer<Base: ResponseSerializer>: ResponseSerializer {
    private let base: Base
    private let value: Base.Output
    private let rule: EmptyContentRule

    private static var maxBlanks: Int { 16 }

    init(_ base: Base, _ value: Base.Output, _ rule: EmptyContentRule) {
        self.base = base
        self.value = value
        self.rule = rule
    }

    /// What the other reads.
    public func accept(in table: SerializerTable) -> [MediaType] { base.accept(in: table) }

    /// What the other reads.
    public func collectedBytes(in table: SerializerTable) -> Int { base.collectedBytes(in: table) }

    /// Returns the value for no content, or the other serializer's value.
    public func serialize(
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
    /// The same serializer, with a value for responses that have no content.
    /// - Parameters:
    ///   - value: The value.
    ///   - rule: Where it is right that a response has no content.
    /// - Returns: The serializer.
    public func valueForEmpty(
        _ value: Output, where rule: EmptyContentRule = EmptyContentRule()
    ) -> EmptyValueSerializer<Self> { EmptyValueSerializer(self, value, rule) }
}
