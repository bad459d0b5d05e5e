// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOCore
import Synchronization
import Turnpike
import TurnpikeSupport

/// A request's content on its way to async-http-client, which asks for it once.
final class Upload: Sendable {
    private enum State {
        case unread(Reading)
        case reading(Task<Void, Never>)
        case closed
    }

    // SAFETY: the reader is taken once, by the task that reads.
    private struct Reading: @unchecked Sendable { let reader: RequestBodyReader }

    private let inMemory: Data?
    private let length: Int64?
    private let group: any EventLoopGroup
    private let state: Mutex<State>

    /// What is handed over at once, in bytes.
    private static let pieceBytes = 262_144

    /// Opens the body.
    /// - Throws: What `RequestBody.open()` throws.
    init(_ body: RequestBody, _ client: HTTPClient) throws {
        let data = body.inMemory
        inMemory = data.flatMap { $0.count <= Self.pieceBytes ? $0 : nil }
        length = body.length
        group = client.eventLoopGroup
        state = Mutex(inMemory == nil ? .unread(Reading(reader: try body.open())) : .closed)
    }

    /// The content as async-http-client takes it.
    var body: HTTPClient.Body {
        if let inMemory { return .byteBuffer(ByteBuffer(bytes: inMemory)) }
        return .stream(contentLength: length) { [self] writer in start(writer) }
    }

    private func start(_ writer: HTTPClient.Body.StreamWriter) -> EventLoopFuture<Void> {
        let promise = group.any().makePromise(of: Void.self)
        let isOpen = state.withLock { state in
            guard case .unread(let reading) = state else { return false }
            // Ends with the content, or is cancelled by `close`, to which each end of the exchange
            // leads.
            let task = Task.inheriting(immediately: false) {
                do {
                    while let chunk = try await reading.reader.nextToSend() {
                        try await Self.write(chunk, to: writer)
                    }
                    promise.succeed()
                } catch {
                    promise.fail(error)
                }
            }
            state = .reading(task)
            return true
        }
        if !isOpen { promise.fail(CancellationError()) }
        return promise.futureResult
    }

    // async-http-client may drop the future of a write whose exchange has ended.
    private static func write(
        _ chunk: Data, to writer: HTTPClient.Body.StreamWriter
    ) async throws {
        var rest = chunk[...]
        while !rest.isEmpty {
            let piece = rest.prefix(pieceBytes)
            rest = rest.dropFirst(piece.count)
            let written = OneShot<Void>()
            writer.write(.byteBuffer(ByteBuffer(bytes: piece))).whenComplete { result in
                written.settle(result)
            }
            try await written.value { written.settle(.failure(CancellationError())) }
        }
    }

    /// Stops reading the content.
    func close() {
        let task = state.withLock { state -> Task<Void, Never>? in
            defer { state = .closed }
            if case .reading(let task) = state { return task }
            return nil
        }
        task?.cancel()
    }
}
