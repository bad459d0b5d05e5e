// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A serializer that needs the whole content.
///
/// ```swift
/// struct CSV: ContentSerializer {
///     var accept: [MediaType] { ["text/csv"] }
///     func serialize(_ content: Data, of head: ResponseHead) throws -> [[Substring]] {
///         String(decoding: content, as: UTF8.self).split(separator: "\n").map { $0.split(separator: ",") }
///     }
/// }
/// ```
public protocol ContentSerializer<Output>: ResponseSerializer {
    /// The type of the value.
    associatedtype Output

    /// Converts content into a value.
    ///
    /// The content is empty if the response has none.
    func serialize(_ content: Data, of head: ResponseHead) throws -> Output

    /// The value of a response that never has content: a 204, a 205, or a response to HEAD.
    ///
    /// If it is nil, the default, ``serialize(_:of:)`` is called with empty content.
    var emptyOutput: Output? { get }
}

extension ContentSerializer {
    /// All of the content.
    public func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Nil.
    public var emptyOutput: Output? { nil }

    /// Collects the content and converts it into a value.
    /// - Throws: ``ClientError/Code/serialization`` with the head and up to 1 KiB of the content.
    public func serialize(_ response: Response, context: SerializationContext) async throws
        -> Output
    {
        try await serialize(response, context: context) { try serialize($0, of: $1) }
    }

    /// Collects the content and converts it with `read`, in the way in which
    /// `serialize(_:context:)` uses ``serialize(_:of:)``.
    public func serialize(
        _ response: Response, context: SerializationContext,
        by read: (Data, ResponseHead) throws -> Output
    ) async throws -> Output {
        let content = try await response.body.collect(upTo: context.maxBytes)
        let head = response.head
        if content.isEmpty, context.expectsNoContent(of: head.status) {
            return try serializeNothing(head, by: read)
        }
        return try serialize(all: content, head, by: read)
    }

    private func serialize(
        all content: Data, _ head: ResponseHead, by read: (Data, ResponseHead) throws -> Output
    ) throws -> Output {
        do {
            return try read(content, head)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ClientError.serialization(error, of: head, content: content)
        }
    }

    // Not inlined: a function that holds an optional value pays for its type metadata on every
    // call.
    @inline(never)
    private func serializeNothing(
        _ head: ResponseHead, by read: (Data, ResponseHead) throws -> Output
    ) throws -> Output {
        if let emptyOutput { return emptyOutput }
        return try serialize(all: Data(), head, by: read)
    }
}
