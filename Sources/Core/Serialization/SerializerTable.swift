// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The serializers and decoders of a client: named entries with media ranges, in order.
///
/// The table belongs to the client, and no serializer is global. If several entries match a media
/// type, an entry that names the type takes precedence. Next come an entry that names the suffix of
/// the type (`+json`), and an entry with a range (`text/*`). Of equal entries, the latest entry
/// takes precedence. The types in `Accept` have the order of the table.
///
/// ```swift
/// var table = SerializerTable.standard
/// table.register(CSV(), as: "csv", for: ["text/csv"])
/// let client = Client(transport: transport, stack: [], serializers: table)
/// let rows = try await client.get("report").serialize(with: CSV())
/// let same = try await client.get("report").auto() as? [[String]]
/// ```
///
/// A *serializer* converts a response into a value of one type. `auto()` uses the serializer for
/// the media type. A *decoder* converts content into a value of any `Decodable` type. `decode(_:)`
/// uses the decoder for the media type. In the example, `auto()` therefore uses the CSV serializer,
/// and `decode(_:)` does not.
public struct SerializerTable: Sendable {
    private enum Maker: Sendable {
        case serializer(any ResponseSerializer)
        case decoder(any ValueDecoder)
    }

    private final class Entry: Sendable {
        let name: String
        let ranges: [MediaType]
        let maker: Maker
        // Only serializers have this number, because a decoder always gets the whole content.
        let collectedBytes: Int

        init(name: String, ranges: [MediaType], maker: Maker, collectedBytes: Int = .max) {
            self.name = name
            self.ranges = ranges
            self.maker = maker
            self.collectedBytes = collectedBytes
        }
    }

    private var entries: [Entry] = []

    /// Creates an empty table.
    public init() {}

    /// Adds a serializer for `auto()`, and replaces an entry with the same name.
    public mutating func register(
        _ serializer: any ResponseSerializer, as name: String, for ranges: [MediaType]
    ) {
        put(
            Entry(
                name: name, ranges: ranges, maker: .serializer(serializer),
                collectedBytes: serializer.collectedBytes(in: self)))
    }

    /// Adds a decoder for `decode(_:)`, and replaces an entry with the same name.
    public mutating func register(
        _ decoder: any ValueDecoder, as name: String, for ranges: [MediaType]
    ) {
        put(Entry(name: name, ranges: ranges, maker: .decoder(decoder)))
    }

    private mutating func put(_ entry: Entry) {
        if let index = entries.firstIndex(where: { $0.name == entry.name }) {
            entries[index] = entry
        } else {
            entries.append(entry)
        }
    }

    var names: [String] { entries.map(\.name) }

    /// Returns the serializer with this name and type, or nil if the table has no such serializer.
    public func serializer<Serializer: ResponseSerializer>(
        _ type: Serializer.Type, named name: String
    ) -> Serializer? {
        guard let index = entries.firstIndex(where: { $0.name == name }),
            case .serializer(let serializer) = entries[index].maker
        else { return nil }
        return serializer as? Serializer
    }

    /// Returns the serializer for a media type.
    public func serializer(for type: MediaType) -> (any ResponseSerializer)? {
        for entry in matching(type) {
            if case .serializer(let serializer) = entry.maker { return serializer }
        }
        return nil
    }

    /// Returns the decoder for a media type.
    public func decoder(for type: MediaType) -> (any ValueDecoder)? {
        for entry in matching(type) {
            if case .decoder(let decoder) = entry.maker { return decoder }
        }
        return nil
    }

    /// The name of the first serializer that names a media type, without ranges.
    public func serializerName(of type: MediaType) -> String? {
        entries.first { entry in
            guard case .serializer = entry.maker else { return false }
            return entry.ranges.contains { $0.essence == type.essence }
        }?.name
    }

    /// The decoder for content without a media type: the decoder for the type of the first decoder.
    public var firstDecoder: (any ValueDecoder)? {
        for entry in entries {
            if case .decoder = entry.maker { return entry.ranges.first.flatMap(decoder(for:)) }
        }
        return nil
    }

    /// The smallest number of bytes that a serializer of the table collects
    /// (``ResponseSerializer/collectedBytes(in:)``).
    public var collectedBytes: Int { entries.map(\.collectedBytes).min() ?? 0 }

    /// The ranges of all serializers, for `Accept`.
    public var acceptForSerializers: [MediaType] {
        unique(
            entries.filter { entry in
                if case .serializer = entry.maker { return true }
                return false
            }.flatMap(\.ranges))
    }

    /// The ranges of all decoders, for `Accept`.
    public var acceptForDecoders: [MediaType] {
        unique(
            entries.filter { entry in
                if case .decoder = entry.maker { return true }
                return false
            }.flatMap(\.ranges))
    }

    private func unique(_ ranges: [MediaType]) -> [MediaType] {
        ranges.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    // Exact ranges come before suffixes, and suffixes before wildcards (RFC 6838 §4.2.8). Of equal
    // entries, the latest comes first, because a standard entry must not hide an entry of the user.
    private func matching(_ type: MediaType) -> [Entry] {
        let latest = entries.reversed()
        let exact = latest.filter { $0.ranges.contains { $0.essence == type.essence } }
        let bySuffix = latest.filter { entry in
            guard let suffix = type.suffix else { return false }
            return entry.ranges.contains { $0.subtype == suffix || $0.suffix == suffix }
        }
        let byRange = latest.filter { $0.ranges.contains { $0.contains(type) } }
        let byType = byRange.filter { entry in
            entry.ranges.contains { $0.type == type.type && $0.contains(type) }
        }
        return exact + bySuffix + byType + byRange
    }
}

/// Decodes content of a format, such as JSON or property lists, into `Decodable` types.
public protocol ValueDecoder: Sendable {
    /// Decodes a value.
    func decode<Value: Decodable>(_ type: Value.Type, from content: Data) throws -> Value
}
