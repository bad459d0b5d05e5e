// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

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
