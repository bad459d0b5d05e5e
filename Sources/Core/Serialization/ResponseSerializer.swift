// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// Converts a response into a value.
///
/// A serializer that needs the whole content conforms to ``ContentSerializer``. A serializer that
/// streams conforms to this protocol and reads the body. Pass the serializer to
/// ``Call/serialize(with:)``, or register the serializer in a ``SerializerTable``.
public protocol ResponseSerializer<Output>: Sendable {
    /// The type of the value.
    associatedtype Output: Sendable

    /// The media ranges for `Accept`, if the caller did not set the field; none by default.
    var accept: [MediaType] { get }

    /// The media ranges for `Accept` that depend on the client's table; ``accept`` by default.
    func accept(in table: SerializerTable) -> [MediaType]

    /// The number of content bytes that are read before the value is available.
    ///
    /// The number is `Int.max` for the whole content, and 0 if the value is a stream or the head. A
    /// retry gate waits for this many bytes of a successful response, up to a limit
    /// (``RequestRetrier/keptBytes(_:context:)``), and makes another attempt if the content breaks
    /// off earlier. The default is 0, or `Int.max` for a ``ContentSerializer``. A serializer that
    /// calls another serializer should return the number of that serializer.
    func collectedBytes(in table: SerializerTable) -> Int

    /// Converts a response into a value.
    func serialize(_ response: Response, context: SerializationContext) async throws -> Output
}

extension ResponseSerializer {
    /// 0 by default, because the value may be a stream.
    public func collectedBytes(in table: SerializerTable) -> Int { 0 }
    /// No media ranges, by default.
    public var accept: [MediaType] { [] }
    /// Returns ``accept``, which does not depend on the table.
    public func accept(in table: SerializerTable) -> [MediaType] { accept }
}

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

    /// Converts content into a value; a response without content has empty content.
    func serialize(_ content: Data, of head: ResponseHead) throws -> Output

    /// The value for a 204, a 205 or a response to HEAD, which never have content.
    ///
    /// If the value is nil, which is the default, ``serialize(_:of:)`` gets empty content.
    var emptyOutput: Output? { get }
}

extension ContentSerializer {
    /// `Int.max`, because the serializer needs the whole content.
    public func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Nil, by default.
    public var emptyOutput: Output? { nil }

    /// Collects the content, and converts the content into a value.
    /// - Throws: ``ClientError/Code/serialization`` with the head and up to 1 KiB of the content.
    public func serialize(_ response: Response, context: SerializationContext) async throws
        -> Output
    {
        // This code repeats the next function, because a call costs another asynchronous frame.
        let content = try await response.body.collect(upTo: context.maxBytes)
        return try serialize(content, of: response, context) { try serialize($0, of: $1) }
    }

    /// Collects the content, and converts the content with `read` instead of ``serialize(_:of:)``.
    public func serialize(
        _ response: Response, context: SerializationContext,
        by read: (Data, ResponseHead) throws -> Output
    ) async throws -> Output {
        let content = try await response.body.collect(upTo: context.maxBytes)
        return try serialize(content, of: response, context, by: read)
    }

    private func serialize(
        _ content: Data, of response: Response, _ context: SerializationContext,
        by read: (Data, ResponseHead) throws -> Output
    ) throws -> Output {
        if content.isEmpty, context.expectsNoContent(of: response.status) {
            return try serializeNothing(response.head, by: read)
        }
        return try serialize(all: content, response.head, by: read)
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

    // The function is never inlined, because a function with an optional value loads the type
    // metadata of the value in each call.
    @inline(never)
    private func serializeNothing(
        _ head: ResponseHead, by read: (Data, ResponseHead) throws -> Output
    ) throws -> Output {
        if let emptyOutput { return emptyOutput }
        return try serialize(all: Data(), head, by: read)
    }
}

/// Describes a call to a serializer.
public struct SerializationContext: Sendable {
    /// The request at the start of the call.
    public let request: Request
    /// The serializers of the client.
    public let table: SerializerTable
    /// The maximum number of content bytes to collect in memory.
    public let maxBytes: Int
    /// The maximum number of bytes of a line, item or event of a stream.
    public let maxLineBytes: Int

    /// Creates a context.
    public init(
        request: Request, table: SerializerTable = SerializerTable(),
        maxBytes: Int = 104_857_600, maxLineBytes: Int = 1_048_576
    ) {
        self.request = request
        self.table = table
        self.maxBytes = maxBytes
        self.maxLineBytes = maxLineBytes
    }
}

extension SerializationContext {
    /// Whether the response is a 204, a 205, or a response to HEAD, which have no content.
    public func expectsNoContent(of status: HTTPStatus) -> Bool {
        status == 204 || status == 205 || request.method == .head
    }
}
