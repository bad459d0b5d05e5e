public import Foundation

/// What turns a response into a value.
///
/// A serializer that needs the whole content conforms to ``ContentSerializer``; one that streams
/// conforms to this and reads the body itself. Give it to ``Call/serialize(with:)``, or register it
/// in a ``SerializerTable``.
public protocol ResponseSerializer<Output>: Sendable {
    /// The type of the value.
    associatedtype Output: Sendable

    /// The media ranges that are asked for in `Accept` where the caller set none; none by default.
    var accept: [MediaType] { get }

    /// The same for a serializer that leaves the choice to the client's table; ``accept`` by
    /// default.
    func accept(in table: SerializerTable) -> [MediaType]

    /// How much of the content is read before there is a value: `Int.max` where all of it is, 0
    /// where the value is the stream, or its head.
    ///
    /// A retry in the stack waits for that much of a successful response, up to a limit of its own
    /// (``RequestRetrier/keptBytes(_:context:)``), and tries again what breaks off before. 0 by
    /// default; `Int.max` for a ``ContentSerializer``. One that calls another passes on what that
    /// one says.
    func collectedBytes(in table: SerializerTable) -> Int

    /// Turns a response into a value.
    func serialize(_ response: Response, context: SerializationContext) async throws -> Output
}

extension ResponseSerializer {
    /// None: the value is the stream.
    public func collectedBytes(in table: SerializerTable) -> Int { 0 }
    /// No wish.
    public var accept: [MediaType] { [] }
    /// ``accept``, whatever the table.
    public func accept(in table: SerializerTable) -> [MediaType] { accept }
}

/// What a serializer may know of the call.
public struct SerializationContext: Sendable {
    /// The request as the call began.
    public let request: Request
    /// The serializers of the client.
    public let table: SerializerTable
    /// The most bytes to collect in memory.
    public let maxBytes: Int
    /// The most bytes that one line, item or event of a stream may have.
    public let maxLineBytes: Int

    /// Creates a context.
    public init(
        request: Request, table: SerializerTable = SerializerTable(),
        maxBytes: Int = CollectLimit.defaultValue, maxLineBytes: Int = LineLimit.defaultValue
    ) {
        self.request = request
        self.table = table
        self.maxBytes = maxBytes
        self.maxLineBytes = maxLineBytes
    }
}

extension SerializationContext {
    /// Whether it is right that a response has no content: a 204, a 205, an answer to HEAD.
    ///
    /// A 304 promises content that someone else keeps.
    package func expectsNoContent(of status: HTTPStatus) -> Bool {
        status == 204 || status == 205 || request.method == .head
    }
}

/// The most bytes of content that a call collects in memory: 100 MiB unless a gate says otherwise.
public enum CollectLimit: ContextKey {
    /// 100 MiB.
    public static var defaultValue: Int { 104_857_600 }
}

/// The most bytes that one line, item or event of a streamed response may have: 1 MiB unless a gate
/// says otherwise.
public enum LineLimit: ContextKey {
    /// 1 MiB.
    public static var defaultValue: Int { 1_048_576 }
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

    /// Turns content into a value.
    ///
    /// It is empty where the response has none.
    func serialize(_ content: Data, of head: ResponseHead) throws -> Output

    /// The value of a response that never has content: a 204, a 205, an answer to HEAD.
    ///
    /// nil, the default, leaves it to ``serialize(_:of:)`` with no bytes.
    var emptyOutput: Output? { get }
}

extension ContentSerializer {
    /// All.
    public func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// None.
    public var emptyOutput: Output? { nil }

    /// Collects the content and turns it into a value.
    /// - Throws: ``ClientError/Code/serialization`` with the head and up to 1 KiB of the content.
    public func serialize(_ response: Response, context: SerializationContext) async throws
        -> Output
    {
        try await serialize(response, context: context) { try serialize($0, of: $1) }
    }

    /// Collects the content and turns it into a value by a function, as
    /// ``serialize(_:context:)`` does by ``serialize(_:of:)``.
    package func serialize(
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

    // By itself: a caller that holds an optional value pays for its type's metadata each time.
    @inline(never)
    private func serializeNothing(
        _ head: ResponseHead, by read: (Data, ResponseHead) throws -> Output
    ) throws -> Output {
        if let emptyOutput { return emptyOutput }
        return try serialize(all: Data(), head, by: read)
    }
}

extension ClientError {
    /// The error for content that could not become a value.
    package static func serialization(
        _ error: any Error, of head: ResponseHead, content: Data
    ) -> ClientError {
        if let error = error as? ClientError {
            return error.completed(response: head)
        }
        let type =
            head.headers[.contentType].map { " (\(Grammar.escaped($0, upTo: 100)))" } ?? ""
        return ClientError(
            .serialization, "the content\(type) cannot be read: \(Self.reason(error))",
            underlying: error, response: head, responseBody: content.prefix(1024))
    }

    // The path of a decoding error is worth more than its description, which quotes the content.
    private static func reason(_ error: any Error) -> String {
        (error as? DecodingError).map(reason) ?? String(describing: error)
    }

    /// What a decoding error says without the content.
    static func reason(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context):
            return "\(path(context.codingPath)) is no \(type)"
        case .valueNotFound(let type, let context):
            return "\(path(context.codingPath)) is null, and a \(type) is wanted"
        case .keyNotFound(let key, let context):
            return "\(path(context.codingPath + [key])) is missing"
        case .dataCorrupted(let context):
            return "\(path(context.codingPath)) is not valid"
        @unknown default: return "it does not fit the type"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        if keys.isEmpty { return "the content" }
        return keys.reduce("$") { text, key in
            key.intValue.map { "\(text)[\($0)]" } ?? "\(text).\(key.stringValue)"
        }
    }
}
