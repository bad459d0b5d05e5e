// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore

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
