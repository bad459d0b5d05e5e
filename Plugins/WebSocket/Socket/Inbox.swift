// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The content that has arrived and was not read yet, and how it ends.
///
/// While it is full, nothing is read from the connection.
final class Inbox: Sendable {
    private struct State {
        var fragments: [WebSocket.Fragment] = []
        // Those before it were taken.
        var start = 0
        var bytes = 0
        var end: Result<Void, any Error>?
        // Whether content that does not fit is dropped, instead of waited with; then all behind it is.
        var dropsExcess = false
        var dropsContent = false
        // Settled when there is something to read, and when there is room.
        var reader: OneShot<Void>?
        var writer: OneShot<Void>?

        var isFull: Bool { bytes >= Inbox.maxBytes && end == nil && !dropsExcess }

        mutating func takeFirst() -> WebSocket.Fragment? {
            guard start < fragments.count else { return nil }
            let fragment = fragments[start]
            start += 1
            bytes -= Inbox.size(fragment)
            if start == fragments.count || start > 1024 {
                fragments.removeFirst(start)
                start = 0
            }
            return fragment
        }
    }

    private let state = Mutex(State())

    static let maxBytes = 65_536

    // Small messages must not count for nothing.
    private static func size(_ fragment: WebSocket.Fragment) -> Int { fragment.content.count + 64 }

    /// Whether the reader is so slow that nothing is read from the connection.
    var isFull: Bool { state.withLock { $0.isFull } }

    /// Whether a reader waits.
    var hasReader: Bool { state.withLock { $0.reader?.isSettled == false } }

    /// Adds content, unless it ended.
    ///
    /// The reader learns of it by ``wakeReader()``, once for all that came together.
    /// - Returns: False if there is no room for it now.
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

    /// Lets the reader look for content.
    func wakeReader() { state.withLock { $0.reader.take() }?.settle(.success(())) }

    /// Waits no longer for a slow reader, and drops what does not fit from now on.
    func dropExcess() {
        let writer = state.withLock { state in
            state.dropsExcess = true
            return state.writer.take()
        }
        writer?.settle(.success(()))
    }

    /// Ends the content; the first end counts.
    func end(_ result: Result<Void, any Error>) {
        let waiters = state.withLock { state in
            if state.end == nil { state.end = result }
            return [state.reader.take(), state.writer.take()]
        }
        for waiter in waiters { waiter?.settle(.success(())) }
    }

    /// Waits while it is full.
    func waitForRoom() async throws {
        wakeReader()
        let moment = state.withLock { state -> OneShot<Void>? in
            guard state.isFull else { return nil }
            let moment = OneShot<Void>()
            state.writer = moment
            return moment
        }
        try await moment?.value { moment?.settle(.failure(CancellationError())) }
    }

    /// Takes the next content; nil at the end.
    /// - Throws: The error at the end, `CancellationError`, or the error of a second reader.
    func next() async throws -> WebSocket.Fragment? {
        while true {
            let (fragment, end, writer, moment) = try state.withLock { state in
                if state.reader?.isSettled == false {
                    throw ClientError(
                        .unsupported, "another task reads the messages of this socket already")
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
}

/// A place that one task has at a time; the others wait in line.
final class Turn: Sendable {
    private struct State {
        var isTaken = false
        var line: [OneShot<Void>] = []
    }

    private let state = Mutex(State())

    /// Runs an operation when all that came before are done.
    /// - Throws: `CancellationError` if the task is cancelled in line, or the operation's error.
    func run<Value>(_ operation: () async throws -> Value) async throws -> Value {
        let moment = state.withLock { state -> OneShot<Void>? in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let moment = OneShot<Void>()
            state.line.append(moment)
            return moment
        }
        try await moment?.value { moment?.settle(.failure(CancellationError())) }
        defer { giveBack() }
        return try await operation()
    }

    private func giveBack() {
        while true {
            let next = state.withLock { state -> OneShot<Void>? in
                if state.line.isEmpty {
                    state.isTaken = false
                    return nil
                }
                return state.line.removeFirst()
            }
            // One that was cancelled in line is passed over.
            guard let next, !next.settle(.success(())) else { return }
        }
    }
}
