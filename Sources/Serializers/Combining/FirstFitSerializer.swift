public import TurnpikeCore

/// Several serializers of one kind of value, of which the first that can read the content gives it.
///
/// ```swift
/// let text = FirstFitSerializer([JSONSerializer().map { $0.description }, StringSerializer().map { $0 }])
/// ```
public struct FirstFitSerializer<Output: Sendable>: ResponseSerializer {
    private let serializers: [any ResponseSerializer<Output>]

    /// Creates a serializer of several, in the order in which they are tried.
    public init(_ serializers: [any ResponseSerializer<Output>]) { self.serializers = serializers }

    /// What any of them reads.
    public func accept(in table: SerializerTable) -> [MediaType] {
        serializers.flatMap { $0.accept(in: table) }.reduce(into: []) { ranges, range in
            if !ranges.contains(range) { ranges.append(range) }
        }
    }

    /// All.
    public func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Collects the content once and gives the first value that can be made of it.
    /// - Throws: The error of the first serializer where none can read it.
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
                .serialization, "there is no serializer to read the content",
                response: response.head)
    }
}
