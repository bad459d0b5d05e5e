public import TurnpikeCore

/// Several serializers of one response: its content is collected once, and each gives its value.
///
/// ```swift
/// let (user, bytes) = try await client.get("users/1")
///     .serialize(with: DecodableSerializer(User.self), DataSerializer())
/// ```
public struct JointSerializer<each Serializer: ResponseSerializer>: ResponseSerializer {
    /// One value of each.
    public typealias Output = (repeat (each Serializer).Output)

    private let serializers: (repeat each Serializer)

    /// Creates a serializer of several.
    public init(_ serializers: repeat each Serializer) {
        self.serializers = (repeat each serializers)
    }

    /// What any of them reads.
    public func accept(in table: SerializerTable) -> [MediaType] {
        var ranges: [MediaType] = []
        for serializer in repeat each serializers {
            for range in serializer.accept(in: table) where !ranges.contains(range) {
                ranges.append(range)
            }
        }
        return ranges
    }

    /// All.
    public func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Collects the content and gives the values, in order; the first error ends it.
    public func serialize(
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
    /// Sends the request once and turns the response into a value of each serializer.
    public func serialize<First: ResponseSerializer, each More: ResponseSerializer>(
        with first: First, _ more: repeat each More
    ) async throws -> (First.Output, repeat (each More).Output) {
        try await serialize(with: JointSerializer(first, repeat each more))
    }
}
