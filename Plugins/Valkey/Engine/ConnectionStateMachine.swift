// SPDX-License-Identifier: Apache-2.0

/// The life of a connection to a node: its state, and how each event changes the state.
///
/// This file does not use sockets and has no side effects. ``ValkeyEngine`` creates the events, and
/// carries out the action that ``handle(_:)`` returns. The engine does both inside its lock, but
/// writes and reads outside of the lock.
///
///     resolving ── hostFound ──▶ connecting ── connected ──▶ securing ── secured ──▶ greeting
///      ── greeted ──▶ ready ── closed ──▶ ended
///
/// Without TLS, `connected` leads to `greeting`. `closed` leads from any state to `ended`. If a
/// thread is writing, `closing` comes before: the descriptor stays open for that thread.
struct ConnectionStateMachine {
    enum State: Equatable {
        /// The host is being looked up.
        case resolving
        /// The connection tries an address of the host.
        case connecting
        /// The TLS handshake is in progress.
        case securing(wantsWrite: Bool)
        /// The first commands have no replies yet.
        case greeting(Output)
        /// The connection accepts commands of callers.
        case ready(Output)
        /// The connection was closed while a thread was writing.
        case closing
        /// The connection is over.
        case ended
    }

    /// The thread that sends the output.
    enum Output: Equatable {
        /// No thread yet.
        case idle
        /// One thread is writing.
        case writing
        /// The engine's thread, when the socket accepts bytes.
        case blocked
        /// No thread any more, because writing has failed. Bytes that came before are still read.
        case broken
    }

    enum Event {
        case hostFound
        /// The current address refused the connection; the host may have other addresses.
        case addressFailed
        case connected(isSecure: Bool)
        case handshakeWaits(toWrite: Bool)
        case secured
        /// All replies to the first commands are good.
        case greeted
        /// A command of a caller, or of the engine, was added to the output.
        case submitted(PendingCommand)
        /// The output can be sent, by the caller or by the engine's thread.
        case outputReady(byCaller: Bool)
        /// The socket accepts bytes, or is connected.
        case writable
        /// The socket has bytes, or is at its end.
        case readable
        case wrote(Rest)
        case writeFailed
        /// A reply was read.
        case replied
        /// The connection is lost, too late, or not needed any more.
        case closed
    }

    /// The state of the output after a write.
    enum Rest: Equatable {
        case nothing
        /// All bytes were sent, and more were added meanwhile.
        case more
        /// The socket accepts no more bytes for now.
        case part
    }

    /// The action to carry out.
    enum Action {
        case none
        /// Try the next address of the host.
        case connect
        /// Ask the socket whether it is connected.
        case check
        case handshake
        /// Put the first commands into the output.
        case greet
        /// Take the bytes of the output, and write them to the socket.
        case write
        /// Let the engine's thread wait until the socket accepts bytes.
        case poll
        case read
        /// The reply is for one of the first commands.
        case takeGreeting
        /// The reply is for this command.
        case answer(PendingCommand)
        /// The reply is for no command, so the connection must be closed.
        case refuse
        /// End both directions. The descriptor stays open.
        case shutDown
        /// Fail these commands. Close the descriptor if no thread writes; otherwise shut it down.
        case close(failed: PendingQueue, isFree: Bool)
        /// Close the descriptor that `close` has left open.
        case release
    }

    private(set) var state = State.resolving
    /// Commands without a reply, in order.
    private(set) var pending = PendingQueue()

    /// Whether the connection accepts commands of callers.
    var isReady: Bool { if case .ready = state { true } else { false } }
    /// Whether the connection was closed.
    var isOver: Bool { state == .closing || state == .ended }
    /// Whether the output waits for a thread to write it.
    var isIdle: Bool { state == .ready(.idle) }
    /// Whether the engine's thread waits until the socket accepts bytes.
    var wantsWrite: Bool {
        switch state {
        case .connecting, .securing(wantsWrite: true), .greeting(.blocked), .ready(.blocked): true
        default: false
        }
    }

    /// Moves to the next state, and returns the action to carry out.
    ///
    /// An event that has no meaning in the current state changes nothing.
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

    /// Releases the callers that fulfil a condition.
    ///
    /// The replies to their commands are dropped.
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

/// A command that was written to a connection and has no reply yet.
struct PendingCommand {
    enum Kind {
        case command
        /// The `OK` of `ASKING`.
        case asking
        /// The slots of the cluster.
        case slots
    }

    var kind: Kind
    /// The caller that waits; nil if no caller waits any more.
    var reply: PendingReply?
    /// When the connection is closed if there is no reply.
    var stallsAt: Int64
}

/// Commands in the order of their replies.
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
