// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The unread content of a socket, and the final result.
///
/// While the inbox is full, the socket reads nothing from the connection.
final class Inbox: Sendable {
    private struct State {
        var fragments: [WebSocket.Fragment] = []
        var bytes = 0
        var end: Result<Void, any Error>?
        // Whether the inbox drops content beyond the limit. After the first dropped content, all
        // content is dropped.
        var dropsExcess = false
        var dropsContent = false
        // `reader` is settled when the inbox has content, and `writer` when the inbox has space.
        var reader: OneShot<Void>?
        var writer: OneShot<Void>?

        var isFull: Bool { bytes >= Inbox.maxBytes && end == nil && !dropsExcess }

        mutating func takeFirst() -> WebSocket.Fragment? {
            if fragments.isEmpty { return nil }
            // `removeFirst` is fast enough, because the limit allows only about a thousand
            // fragments.
            let fragment = fragments.removeFirst()
            bytes -= Inbox.size(fragment)
            return fragment
        }

        mutating func putBack(_ fragment: WebSocket.Fragment) {
            fragments.insert(fragment, at: 0)
            bytes += Inbox.size(fragment)
        }
    }

    private let state = Mutex(State())

    static let maxBytes = 65_536

    // The constant is the memory of a fragment, which matters for small messages.
    private static func size(_ fragment: WebSocket.Fragment) -> Int { fragment.content.count + 64 }

    /// Whether the socket waits for space in the inbox, and therefore reads nothing.
    var isHolding: Bool { state.withLock { $0.writer?.isSettled == false } }

    var hasReader: Bool { state.withLock { $0.reader?.isSettled == false } }

    /// Adds content, unless the content has ended.
    ///
    /// A waiting reader wakes up only in ``wakeReader()``, which is called once for all content of
    /// a read.
    /// - Returns: False if the inbox has no space for the content now.
    func put(_ fragment: WebSocket.Fragment) -> Bool {
        state.withLock { state in
            if state.isFull { return false }
            if state.dropsExcess, state.bytes >= Self.maxBytes { state.dropsContent = true }
            guard state.end == nil, !state.dropsContent else { return true }
            state.fragments.append(fragment)
            state.bytes += Self.size(fragment)
            return true
        }
    }

    func wakeReader() { state.withLock { $0.reader.take() }?.settle(.success(())) }

    /// From now on, drops content beyond the limit instead of waiting for a slow reader.
    func dropExcess() {
        let writer = state.withLock { state in
            state.dropsExcess = true
            return state.writer.take()
        }
        writer?.settle(.success(()))
    }

    // Ends the content. Only the first call of this method has an effect.
    func end(_ result: Result<Void, any Error>) {
        let waiters = state.withLock { state in
            if state.end == nil { state.end = result }
            return [state.reader.take(), state.writer.take()]
        }
        for waiter in waiters { waiter?.settle(.success(())) }
    }

    func waitForRoom() async throws {
        wakeReader()
        let moment = state.withLock { state in
            state.writer = state.isFull ? OneShot() : nil
            return state.writer
        }
        try await moment?.value { moment?.settle(.failure(CancellationError())) }
    }

    /// Returns the next content, or nil at the end.
    /// - Throws: The error of the end, `CancellationError`, or an error if another task is reading.
    func next() async throws -> WebSocket.Fragment? {
        while true {
            let (fragment, end, writer, moment) = try state.withLock { state in
                if state.reader?.isSettled == false {
                    throw ClientError(
                        .unsupported, "another task is already reading the messages of this socket")
                }
                let fragment = state.takeFirst()
                let moment = fragment == nil && state.end == nil ? OneShot<Void>() : nil
                if let moment { state.reader = moment }
                let hasRoom = state.bytes < Self.maxBytes / 2
                return (fragment, state.end, hasRoom ? state.writer.take() : nil, moment)
            }
            writer?.settle(.success(()))
            if let fragment { return fragment }
            if let end {
                try end.get()
                return nil
            }
            try await moment?.value { moment?.settle(.failure(CancellationError())) }
        }
    }

    /// Returns the next message as one fragment, or nil at the end.
    ///
    /// If a reader is cancelled within a message, the next reader gets the whole message.
    func nextMessage() async throws -> WebSocket.Fragment? {
        var content = Data()
        var isText = false
        do {
            while let part = try await next() {
                if part.isLast, content.isEmpty { return part }
                content += part.content
                isText = part.isText
                if part.isLast { return .init(content: content, isText: isText, isLast: true) }
            }
            return nil
        } catch let error as CancellationError {
            let parts = WebSocket.Fragment(content: content, isText: isText, isLast: false)
            if !content.isEmpty { state.withLock { $0.putBack(parts) } }
            throw error
        }
    }
}

/// A lock that tasks obtain in the order of their calls.
final class Turn: Sendable {
    private struct State {
        var isTaken = false
        // Nil if no task waits any more.
        var line: [OneShot<Void>]? = []
    }

    private let state = Mutex(State())

    var waiterCount: Int { state.withLock { $0.line?.count ?? 0 } }

    /// Runs an operation after the end of all earlier operations.
    /// - Throws: `CancellationError` if the waiting task is cancelled, or the operation's error.
    func run<Value>(_ operation: () async throws -> Value) async throws -> Value {
        let moment = state.withLock { state -> OneShot<Void>? in
            let moment = state.isTaken && state.line != nil ? OneShot<Void>() : nil
            if let moment { state.line?.append(moment) }
            state.isTaken = true
            return moment
        }
        do {
            try await moment?.value { moment?.settle(.failure(CancellationError())) }
        } catch {
            state.withLock { $0.line?.removeAll { $0 === moment } }
            throw error
        }
        defer { giveBack() }
        return try await operation()
    }

    /// From now on, no operation waits for another operation.
    func end() {
        let line = state.withLock { $0.line.take() }
        for moment in line ?? [] { moment.settle(.success(())) }
    }

    private func giveBack() {
        // A waiting task that was cancelled does not get the lock.
        while let next = state.withLock({ state in
            state.isTaken = state.line?.isEmpty == false
            return state.isTaken ? state.line?.removeFirst() : nil
        }), !next.settle(.success(())) {}
    }
}
