// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOCore
import Synchronization
import TurnpikeEssentials
import TurnpikeSupport

/// Passes a request's content to async-http-client, which reads the content once.
final class Upload: Sendable {
    private enum State {
        case unread(Reading)
        case reading(Task<Void, Never>)
        /// async-http-client has a piece that is not sent yet.
        case writing(Task<Void, Never>, piece: OneShot<Void>)
        case closed
    }

    // SAFETY: only the task that reads the content takes the reader, and takes the reader once.
    private struct Reading: @unchecked Sendable { let reader: RequestBodyReader }

    private let inMemory: Data?
    private let length: Int64?
    private let group: any EventLoopGroup
    private let state: Mutex<State>

    private static let pieceBytes = 262_144

    /// Opens the body.
    /// - Throws: The errors of `RequestBody.open()`.
    init(_ body: RequestBody, _ client: HTTPClient) throws {
        let data = body.inMemory
        inMemory = data.flatMap { $0.count <= Self.pieceBytes ? $0 : nil }
        length = body.length
        group = client.eventLoopGroup
        state = Mutex(inMemory == nil ? .unread(Reading(reader: try body.open())) : .closed)
    }

    var body: HTTPClient.Body {
        if let inMemory { return .byteBuffer(ByteBuffer(bytes: inMemory)) }
        return .stream(contentLength: length) { [self] writer in start(writer) }
    }

    private func start(_ writer: HTTPClient.Body.StreamWriter) -> EventLoopFuture<Void> {
        let promise = group.any().makePromise(of: Void.self)
        let isOpen = state.withLock { state in
            guard case .unread(let reading) = state else { return false }
            // The task ends with the content, or when `close` cancels it. Every end of the exchange
            // calls `close`.
            let task = Task.inheriting(immediately: false) {
                do {
                    while let chunk = try await reading.reader.nextToSend() {
                        try await self.write(chunk, to: writer)
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

    // Passes one piece at a time, and waits until the piece is sent. For a piece that arrives while
    // the connection is full, async-http-client creates a promise. If the exchange ends, the
    // promise is never completed, and SwiftNIO traps in debug builds.
    private func write(
        _ chunk: Data, to writer: HTTPClient.Body.StreamWriter
    ) async throws {
        var rest = chunk[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceBytes)
            rest = rest.dropFirst(piece.count)
            let sent = OneShot<Void>()
            let isOpen = state.withLock { state in
                guard case .reading(let task) = state else { return false }
                state = .writing(task, piece: sent)
                return true
            }
            guard isOpen else { throw CancellationError() }
            writer.write(.byteBuffer(ByteBuffer(bytes: piece))).whenFailure { error in
                sent.settle(.failure(error))
            }
            try await sent.value { sent.settle(.failure(CancellationError())) }
        }
    }

    func didSend() {
        let piece = state.withLock { state -> OneShot<Void>? in
            guard case .writing(let task, let piece) = state else { return nil }
            state = .reading(task)
            return piece
        }
        piece?.settle(.success(()))
    }

    func close() {
        let task = state.withLock { state -> Task<Void, Never>? in
            defer { state = .closed }
            switch state {
            case .reading(let task), .writing(let task, _): return task
            case .unread, .closed: return nil
            }
        }
        task?.cancel()
    }
}
