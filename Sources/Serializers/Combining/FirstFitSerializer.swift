// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

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
