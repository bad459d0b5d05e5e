// SPDX-License-Identifier: Apache-2.0

/// The states of a connection to a node, and the transitions for each event.
///
/// This file does not use sockets and has no side effects. ``ValkeyEngine`` creates the events, and
/// performs the action that ``handle(_:)`` returns. The engine creates events and starts actions
/// inside its lock, but reads and writes sockets outside of the lock.
///
///     resolving ── hostFound ──▶ connecting ── connected ──▶ securing ── secured ──▶ greeting
///      ── greeted ──▶ ready ── closed ──▶ ended
///
/// Without TLS, `connected` leads to `greeting`. `closed` leads from any state to `ended`. If a
/// thread is writing at the close of the connection, the state `closing` precedes `ended`. In this
/// state, the descriptor stays open for the writing thread.
struct ConnectionStateMachine {
    enum State: Equatable {
        case resolving
        case connecting
        /// The TLS handshake is running.
        case securing(wantsWrite: Bool)
        case greeting(Output)
        /// The replies to the first commands have arrived. The connection accepts commands of
        /// callers.
        case ready(Output)
        /// The connection was closed while a thread was writing, and the descriptor is still open.
        case closing
        case ended
    }

    enum Output: Equatable {
        case idle
        case writing
        /// The engine's thread sends the rest when the socket accepts bytes again.
        case blocked
        /// Writing has failed, and no thread sends any more.
        ///
        /// Bytes that have arrived are still read.
        case broken
    }

    enum Event {
        case hostFound
        /// The current address refused the connection. The host may have other addresses.
        case addressFailed
        case connected(isSecure: Bool)
        case handshakeWaits(toWrite: Bool)
        case secured
        case greeted
        case submitted(PendingCommand)
        case outputReady(byCaller: Bool)
        /// The socket accepts bytes, or has just connected.
        case writable
        /// The socket has bytes to read, or the peer has closed the connection.
        case readable
        case wrote(Rest)
        case writeFailed
        case replied
        /// The connection is lost, has passed its deadline, or is not needed any more.
        case closed
    }

    enum Rest: Equatable {
        case nothing
        /// All bytes were sent, but callers have added more bytes.
        case more
        /// The socket accepts no more bytes for now.
        case part
    }

    enum Action {
        case none
        case connect
        /// Check whether the socket is connected.
        case check
        case handshake
        case greet
        case write
        case poll
        case read
        case takeGreeting
        case answer(PendingCommand)
        /// Close the connection, because no command waits for the reply.
        case refuse
        /// Shut down both directions of the socket, without closing the descriptor.
        case shutDown
        /// Fail these commands. Close the descriptor, or shut it down while a thread is writing.
        case close(failed: PendingQueue, isFree: Bool)
        /// Close the descriptor, which `close` has left open for the writing thread.
        case release
    }

    private(set) var state = State.resolving
    private(set) var pending = PendingQueue()

    var isReady: Bool { if case .ready = state { true } else { false } }
    var isOver: Bool { state == .closing || state == .ended }
    var isIdle: Bool { state == .ready(.idle) }
    var wantsWrite: Bool {
        switch state {
        case .connecting, .securing(wantsWrite: true), .greeting(.blocked), .ready(.blocked): true
        default: false
        }
    }

    /// Changes the state and returns the action, or ignores an event without a meaning.
    mutating func handle(_ event: Event) -> Action {
        switch (state, event) {
        case (.ended, _): return .none
        case (.closing, .wrote), (.closing, .writeFailed): return move(to: .ended, .release)
        case (.closing, _): return .none
        case (_, .closed): return close()
        case (.resolving, .hostFound): return move(to: .connecting, .connect)
        case (.connecting, .addressFailed): return .connect
        case (.connecting, .writable): return .check
        case (.connecting, .connected(isSecure: true)):
            return move(to: .securing(wantsWrite: false), .handshake)
        case (.connecting, .connected(isSecure: false)), (.securing, .secured):
            return move(to: .greeting(.blocked), .greet)
        case (.securing, .writable), (.securing, .readable): return .handshake
        case (.securing, .handshakeWaits(let toWrite)):
            return move(to: .securing(wantsWrite: toWrite))
        case (.greeting, .replied): return .takeGreeting
        case (.greeting(let output), .greeted): return move(to: .ready(output))
        case (.ready, .submitted(let command)):
            pending.append(command)
            return .none
        case (.ready, .replied): return pending.popFirst().map { .answer($0) } ?? .refuse
        case (.greeting, .readable), (.ready, .readable): return .read
        case (.greeting(let output), _):
            let (next, action) = Self.send(event, output)
            return move(to: .greeting(next), action)
        case (.ready(let output), _):
            let (next, action) = Self.send(event, output)
            return move(to: .ready(next), action)
        default: return .none
        }
    }

    private static func send(_ event: Event, _ output: Output) -> (Output, Action) {
        switch (output, event) {
        case (.idle, .outputReady(byCaller: true)), (.blocked, .writable),
            (.writing, .wrote(.more)):
            (.writing, .write)
        case (.idle, .outputReady(byCaller: false)), (.writing, .wrote(.part)): (.blocked, .poll)
        case (.writing, .wrote(.nothing)): (.idle, .none)
        case (.writing, .writeFailed): (.broken, .shutDown)
        default: (output, .none)
        }
    }

    /// Releases the callers that fulfil a condition, and drops the replies for these callers.
    mutating func release(_ condition: (PendingReply) -> Bool) { pending.release(condition) }

    private mutating func close() -> Action {
        let isFree = state != .greeting(.writing) && state != .ready(.writing)
        let failed = pending
        pending = PendingQueue()
        return move(to: isFree ? .ended : .closing, .close(failed: failed, isFree: isFree))
    }

    private mutating func move(to next: State, _ action: Action = .none) -> Action {
        state = next
        return action
    }
}

struct PendingCommand {
    enum Kind {
        case command
        case asking
        case slots
    }

    var kind: Kind
    var reply: PendingReply?
    /// The time at which the connection is closed without a reply.
    var stallsAt: Int64
}

struct PendingQueue {
    private var commands: [PendingCommand?] = []
    private var head = 0

    var count: Int { commands.count - head }
    var isEmpty: Bool { head == commands.count }
    var first: PendingCommand? { isEmpty ? nil : commands[head] }

    mutating func append(_ command: PendingCommand) { commands.append(command) }

    mutating func popFirst() -> PendingCommand? {
        guard head < commands.count else { return nil }
        let command = commands[head].take()
        head += 1
        if head == commands.count {
            commands.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024, head * 2 >= commands.count {
            commands.removeFirst(head)
            head = 0
        }
        return command
    }

    mutating func release(_ condition: (PendingReply) -> Bool) {
        for index in head..<commands.count {
            if let reply = commands[index]?.reply, condition(reply) {
                commands[index]?.reply = nil
            }
        }
    }
}
