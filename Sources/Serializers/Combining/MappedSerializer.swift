// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// A serializer that transforms the value of another serializer.
struct MappedSerializer<Base: ResponseSerializer, Output: Sendable>: ResponseSerializer {
    private let base: Base
    private let transform: @Sendable (Base.Output) throws -> Output

    init(_ base: Base, _ transform: @escaping @Sendable (Base.Output) throws -> Output) {
        self.base = base
        self.transform = transform
    }

    /// The media types that the base serializer accepts.
    func accept(in table: SerializerTable) -> [MediaType] { base.accept(in: table) }

    /// The number of bytes that the base serializer collects.
    func collectedBytes(in table: SerializerTable) -> Int { base.collectedBytes(in: table) }

    /// Returns the transformed value.
    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> Output {
        try transform(try await base.serialize(response, context: context))
    }
}

extension ResponseSerializer {
    /// Returns a serializer whose values are transformed by a closure.
    ///
    /// The call throws what the closure throws, unchanged.
    public func map<Value: Sendable>(
        _ transform: @escaping @Sendable (Output) throws -> Value
    ) -> some ResponseSerializer<Value> { MappedSerializer(self, transform) }
}
