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

/// Tries several serializers in order and returns the value of the first that can read the content.
///
/// ```swift
/// let text = FirstFitSerializer([JSONSerializer().map { $0.description }, StringSerializer().map { $0 }])
/// ```
public struct FirstFitSerializer<Output: Sendable>: ResponseSerializer {
    private let serializers: [any ResponseSerializer<Output>]

    /// Creates a serializer that tries `serializers` in order.
    public init(_ serializers: [any ResponseSerializer<Output>]) { self.serializers = serializers }

    /// The media types that any of the serializers accepts.
    public func accept(in table: SerializerTable) -> [MediaType] {
        serializers.flatMap { $0.accept(in: table) }.reduce(into: []) { ranges, range in
            if !ranges.contains(range) { ranges.append(range) }
        }
    }

    /// The whole content.
    public func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Collects the content once and returns the first value that a serializer can make of it.
    /// - Throws: The error of the first serializer if none can read the content.
    public func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> Output {
        let content = try await response.body.collect(upTo: context.maxBytes)
        var first: (any Error)?
        for serializer in serializers {
            var copy = response
            copy.body = ResponseBody(content, trailers: response.trailers)
            do {
                return try await serializer.serialize(copy, context: context)
            } catch let error as CancellationError {
                throw error
            } catch {
                first = first ?? error
            }
        }
        throw first
            ?? ClientError(
                .serialization, "the list of serializers is empty",
                response: response.head)
    }
}

/// Collects the content of a response once and returns the values of several serializers.
struct JointSerializer<each Serializer: ResponseSerializer>: ResponseSerializer {
    /// One value from each serializer.
    typealias Output = (repeat (each Serializer).Output)

    private let serializers: (repeat each Serializer)

    /// Creates a serializer from several serializers.
    init(_ serializers: repeat each Serializer) {
        self.serializers = (repeat each serializers)
    }

    /// The media types that any of the serializers accepts.
    func accept(in table: SerializerTable) -> [MediaType] {
        var ranges: [MediaType] = []
        for serializer in repeat each serializers {
            for range in serializer.accept(in: table) where !ranges.contains(range) {
                ranges.append(range)
            }
        }
        return ranges
    }

    /// The whole content.
    func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Collects the content and returns the values in order; throws the first error.
    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> (repeat (each Serializer).Output) {
        let content = try await response.body.collect(upTo: context.maxBytes)
        func value<One: ResponseSerializer>(_ serializer: One) async throws -> One.Output {
            var copy = response
            copy.body = ResponseBody(content, trailers: response.trailers)
            return try await serializer.serialize(copy, context: context)
        }
        return (repeat try await value(each serializers))
    }
}

extension Call {
    /// Sends the request once and returns the value of each serializer.
    ///
    /// ```swift
    /// let (user, bytes) = try await client.get("users/1")
    ///     .serialize(with: DecodableSerializer(User.self), DataSerializer())
    /// ```
    public func serialize<First: ResponseSerializer, each More: ResponseSerializer>(
        with first: First, _ more: repeat each More
    ) async throws -> (First.Output, repeat (each More).Output) {
        try await serialize(with: JointSerializer(first, repeat each more))
    }
}
