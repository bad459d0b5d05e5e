public import TurnpikeCore

/// What another serializer gives, changed.
public struct MappedSerializer<Base: ResponseSerializer, Output: Sendable>: ResponseSerializer {
    private let base: Base
    private let transform: @Sendable (Base.Output) throws -> Output

    init(_ base: Base, _ transform: @escaping @Sendable (Base.Output) throws -> Output) {
        self.base = base
        self.transform = transform
    }

    /// What the other reads.
    public func accept(in table: SerializerTable) -> [MediaType] { base.accept(in: table) }

    /// What the other reads.
    public func collectedBytes(in table: SerializerTable) -> Int { base.collectedBytes(in: table) }

    /// Returns the changed value.
    public func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> Output {
        try transform(try await base.serialize(response, context: context))
    }
}

extension ResponseSerializer {
    /// The same serializer, whose values are changed by a closure.
    ///
    /// What the closure throws is the call's error, unchanged.
    public func map<Value: Sendable>(
        _ transform: @escaping @Sendable (Output) throws -> Value
    ) -> MappedSerializer<Self, Value> { MappedSerializer(self, transform) }
}
