// SPDX-License-Identifier: Apache-2.0

/// Converts a response into a value.
///
/// A serializer that needs the whole content conforms to ``ContentSerializer``. One that streams
/// conforms to this protocol and reads the body itself. Pass it to ``Call/serialize(with:)``, or
/// register it in a ``SerializerTable``.
public protocol ResponseSerializer<Output>: Sendable {
    /// The type of the value.
    associatedtype Output: Sendable

    /// The media ranges for `Accept` if the caller did not set the field; none by default.
    var accept: [MediaType] { get }

    /// The media ranges for a serializer that lets the client's table choose; ``accept`` by
    /// default.
    func accept(in table: SerializerTable) -> [MediaType]

    /// How many bytes of the content are read before the value is available: `Int.max` for all of
    /// it, 0 if the value is the stream or the head.
    ///
    /// A retry in the stack waits for that much of a successful response, up to its own limit
    /// (``RequestRetrier/keptBytes(_:context:)``), and retries if the content breaks off before.
    /// The default is 0, and `Int.max` for a ``ContentSerializer``. A serializer that calls another
    /// one should return the other's value.
    func collectedBytes(in table: SerializerTable) -> Int

    /// Converts a response into a value.
    func serialize(_ response: Response, context: SerializationContext) async throws -> Output
}

extension ResponseSerializer {
    /// 0: the value is the stream.
    public func collectedBytes(in table: SerializerTable) -> Int { 0 }
    /// No media ranges.
    public var accept: [MediaType] { [] }
    /// Returns ``accept``, whatever the table.
    public func accept(in table: SerializerTable) -> [MediaType] { accept }
}
