// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// A transformation of content before a serializer reads it.
///
/// ```swift
/// let json = JSONSerializer().preprocessed(by: .removingXSSIPrefix)
/// let value = try await client.get("data").serialize(with: json)
/// ```
public struct ContentPreprocessor: Sendable {
    let process: @Sendable (Data) throws -> Data

    /// Creates a transformation from a closure.
    public init(_ process: @escaping @Sendable (Data) throws -> Data) { self.process = process }

    /// Removes a prefix that keeps JSON from being run as a script.
    ///
    /// Google and Angular send `)]}'` and the rest of that line; other servers send `while(1);` or
    /// `for(;;);`.
    public static let removingXSSIPrefix = ContentPreprocessor { content in
        if content.starts(with: Data(")]}'".utf8)) {
            let rest = content.dropFirst(4)
            guard let end = rest.firstIndex(of: 0x0A) else {
                return rest.first == UInt8(ascii: ",") ? rest.dropFirst() : rest
            }
            let line = rest[..<end].filter { $0 != 0x0D && $0 != 0x20 && $0 != UInt8(ascii: ",") }
            return line.isEmpty ? rest[(end + 1)...] : rest
        }
        for prefix in ["while(1);", "for(;;);"] where content.starts(with: Data(prefix.utf8)) {
            return content.dropFirst(prefix.utf8.count)
        }
        return content
    }
}

/// A serializer that reads transformed content.
struct PreprocessedSerializer<Base: ResponseSerializer>: ResponseSerializer {
    private let base: Base
    private let preprocessor: ContentPreprocessor

    init(_ base: Base, _ preprocessor: ContentPreprocessor) {
        self.base = base
        self.preprocessor = preprocessor
    }

    /// The media types that the base serializer accepts.
    func accept(in table: SerializerTable) -> [MediaType] { base.accept(in: table) }

    /// The whole content, because all of it is transformed.
    func collectedBytes(in table: SerializerTable) -> Int { .max }

    /// Collects the content, transforms it, and returns the value of the base serializer.
    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> Base.Output {
        let content = try await response.body.collect(upTo: context.maxBytes)
        var changed = response
        do {
            // Copies a slice, so that indices begin at 0.
            changed.body = ResponseBody(
                Data(try preprocessor.process(content)), trailers: response.trailers)
        } catch {
            throw ClientError.serialization(error, of: response.head, content: content)
        }
        return try await base.serialize(changed, context: context)
    }
}

extension ResponseSerializer {
    /// Returns a serializer that transforms the content first.
    public func preprocessed(by preprocessor: ContentPreprocessor) -> some ResponseSerializer<
        Output
    > {
        PreprocessedSerializer(self, preprocessor)
    }
}
