// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Synchronization
public import TurnpikeCore

/// The requirements for every response serializer.
///
/// ```swift
/// static let checks = SerializerConformance.checks(
///     of: CSVSerializer.self, sample: Data("a,b\n1,2\n".utf8), type: "text/csv")
///
/// @Test(arguments: checks)
/// func conforms(_ check: ConformanceCheck<CSVSerializer>) async throws {
///     try await check.run(on: CSVSerializer())
/// }
/// ```
public enum SerializerConformance {
    /// Returns all checks for a type of serializer.
    /// - Parameters:
    ///   - type: The type of serializer.
    ///   - sample: Content that the serializer can read.
    ///   - mediaType: The media type of the sample.
    /// - Returns: The checks.
    public static func checks<Serializer: ResponseSerializer>(
        of type: Serializer.Type, sample: Data, type mediaType: MediaType
    ) -> [ConformanceCheck<Serializer>] where Serializer.Output: Equatable {
        let type = mediaType.description
        return reading(sample, type) + refusing(sample, type)
    }

    private static func reading<Serializer: ResponseSerializer>(
        _ sample: Data, _ type: String
    ) -> [ConformanceCheck<Serializer>] where Serializer.Output: Equatable {
        [
            ConformanceCheck("The sample gives the same value however it is cut into chunks") {
                serializer in
                let whole = try await read(serializer, [sample], type)
                let cuts = sample.count <= 200 ? Array(1..<max(sample.count, 2)) : [1, 7, 64, 100]
                for cut in cuts {
                    let parts = [sample.prefix(cut), sample.dropFirst(cut)].map { Data($0) }
                    let value = try await read(serializer, parts, type)
                    try require(value == whole, "another value when cut after byte \(cut)")
                }
                let bytes = try await read(serializer, sample.map { Data([$0]) }, type)
                try require(bytes == whole, "another value when the content comes byte by byte")
            },
            ConformanceCheck("The accepted media ranges are valid") { serializer in
                for range in serializer.accept(in: SerializerTable()) {
                    try require(
                        MediaType(parsing: range.description) != nil, "\(range) is not valid")
                }
            },
            ConformanceCheck("An error of the content reaches the caller and closes the content") {
                serializer in
                let ends = Mutex(0)
                let error = try await error {
                    _ = try await read(
                        serializer, [Data(sample.prefix(sample.count / 2))], type, then: Broken()
                    ) { ends.withLock { $0 += 1 } }
                }
                try require(
                    error is Broken || (error as? ClientError)?.code == .serialization,
                    "the error is \(error)")
                try require(ends.withLock { $0 } == 1, "the content is still open")
            },
        ]
    }

    private static func refusing<Serializer: ResponseSerializer>(
        _ sample: Data, _ type: String
    ) -> [ConformanceCheck<Serializer>] where Serializer.Output: Equatable {
        [
            ConformanceCheck("Truncated, empty or damaged content gives a value or a ClientError") {
                serializer in
                var generator = SeededGenerator(seed: 3)
                var contents = [Data(), Data([0]), Data(repeating: 0xFF, count: 300)]
                for _ in 0..<500 where !sample.isEmpty {
                    var damaged = sample.prefix(Int.random(in: 0...sample.count, using: &generator))
                    if let index = damaged.indices.randomElement(using: &generator) {
                        damaged[index] = UInt8.random(in: 0...255, using: &generator)
                    }
                    contents.append(Data(damaged))
                }
                for content in contents { try await expectKnown(serializer, content, type) }
            },
            ConformanceCheck("Content beyond the limit is rejected, not read") { serializer in
                let pulled = Mutex(0)
                let chunk = sample.isEmpty ? Data(count: 100) : sample
                let body = ResponseBody(
                    AsyncStream<Data> { () async -> Data? in
                        pulled.withLock { $0 += 1 }
                        return pulled.withLock { $0 } > 100_000 ? nil : chunk
                    })
                let head = try head(type)
                let context = SerializationContext(
                    request: Request(.get, "https://a.example/"), maxBytes: 10_000,
                    maxLineBytes: 1000)
                do {
                    _ = try await serializer.serialize(
                        Response(head: head, body: body), context: context)
                } catch {
                    try require(error is ClientError, "the error is \(error)")
                }
                let limit = 10_000 / chunk.count + 1000
                try require(
                    pulled.withLock { $0 } <= limit, "\(pulled.withLock { $0 }) chunks were read")
            },
        ]
    }

    private static func expectKnown(
        _ serializer: some ResponseSerializer, _ content: Data, _ type: String
    ) async throws {
        do {
            _ = try await read(serializer, [content], type)
        } catch let error as ClientError {
            let quoted =
                content.count > 40 && "\(error)".contains(String(decoding: content, as: UTF8.self))
            try require(!quoted, "the error quotes the content")
        } catch {
            throw ConformanceFailure("content of \(content.count) bytes fails with \(error)")
        }
    }

    private static func head(_ type: String) throws -> ResponseHead {
        guard let url = URL(string: "https://a.example/") else {
            throw ConformanceFailure("no URL")
        }
        return ResponseHead(status: 200, headers: ["Content-Type": type], url: url)
    }

    private static func read<Serializer: ResponseSerializer>(
        _ serializer: Serializer, _ chunks: [Data], _ type: String,
        then failure: (any Error)? = nil,
        onEnd: @escaping @Sendable () -> Void = {}
    ) async throws -> Serializer.Output {
        let rest = Mutex(chunks[...])
        let body = ResponseBody(
            AsyncThrowingStream<Data, any Error> { () async throws -> Data? in
                if let chunk = rest.withLock({ $0.popFirst() }) { return chunk }
                if let failure { throw failure }
                return nil
            })
        body.onEnd { _ in onEnd() }
        return try await serializer.serialize(
            Response(head: try head(type), body: body),
            context: SerializationContext(request: Request(.get, "https://a.example/")))
    }
}

private struct Broken: Error {}
