// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore

/// The parts of a multipart response as they arrive: `multipart/mixed`, `multipart/byteranges`,
/// `multipart/x-mixed-replace` and others.
///
/// ```swift
/// for try await part in client.get("feed").parts() { show(part.type, part.content) }
/// ```
///
/// The request is sent when the first part is requested. Each part is held in memory completely; a
/// part larger than the limit for lines and events throws
/// ``/TurnpikeCore/ClientError/Code/tooLarge``. The preamble and the epilogue are discarded. If a
/// response ends within a part, the parts before it are returned, then
/// ``/TurnpikeCore/ClientError/Code/incomplete`` is thrown.
public struct ReceivedParts: AsyncSequence, Sendable {
    private let open: @Sendable () async throws -> (Response, Int)

    init(_ open: @escaping @Sendable () async throws -> (Response, Int)) { self.open = open }

    /// An iterator over the parts.
    ///
    /// Releasing it ends the transfer.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let open: @Sendable () async throws -> (Response, Int)
        private var parser: PartParser?
        private var chunks: ResponseBody.AsyncIterator?
        private var complete: (any Error) -> any Error = { $0 }
        private var hasEnded = false

        fileprivate init(_ open: @escaping @Sendable () async throws -> (Response, Int)) {
            self.open = open
        }

        /// The next part, or nil at the end.
        public mutating func next() async throws -> ReceivedPart? {
            try await next(isolation: nil)
        }

        /// The next part, or nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> ReceivedPart? {
            if hasEnded { return nil }
            do {
                if parser == nil {
                    let (response, maxBytes) = try await open()
                    complete = { response.completing($0) }
                    parser = try PartParser(response.head, maxBytes: maxBytes)
                    chunks = response.body.makeAsyncIterator()
                }
                while true {
                    if let part = try parser?.next() { return part }
                    if parser?.hasEnded ?? true { break }
                    guard let chunk = try await chunks?.next() else {
                        throw ClientError(.incomplete, "the response ended inside a part")
                    }
                    parser?.append(chunk)
                }
                end()
                return nil
            } catch {
                let error = complete(error)
                end()
                throw error
            }
        }

        private mutating func end() {
            hasEnded = true
            chunks = nil
            parser = nil
            complete = { $0 }
        }
    }

    /// Creates an iterator; the request is sent by its first `next()`.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(open) }
}

extension Call {
    /// Returns the parts of a multipart response as they arrive.
    public func parts() -> ReceivedParts {
        ReceivedParts { try await serialize(with: WholeResponse()) }
    }

    private struct WholeResponse: ResponseSerializer {
        var accept: [MediaType] { [MediaType("multipart", "*")] }

        func serialize(
            _ response: Response, context: SerializationContext
        ) async throws -> (Response, Int) { (response, context.maxLineBytes) }
    }
}

extension Response {
    /// Returns the parts of the response as they arrive.
    /// - Parameter maxBytes: The largest part in bytes.
    /// - Returns: A sequence of parts.
    public func parts(maxBytes: Int = 1_048_576) -> ReceivedParts {
        ReceivedParts { (self, maxBytes) }
    }
}
