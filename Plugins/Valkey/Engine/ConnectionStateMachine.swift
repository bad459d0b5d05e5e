// SPDX-License-Identifier: Apache-2.0

/// The life of a connection to a node: the state it is in, and what each event makes of it.
///
/// This file knows nothing of sockets and has no effects. ``ValkeyEngine`` turns what happens into
/// events, and carries out the action that ``handle(_:)`` returns, both inside its lock; it writes and
/// reads outside of the lock.
///
///     resolving ── hostFound ──▶ connecting ── connected ──▶ securing ── secured ──▶ greeting
///      ── greeted ──▶ ready ── closed ──▶ ended
///
/// Without TLS, `connected` leads to `greeting`. `closed` leads from any state to `ended`, through
/// `closing` if a thread is writing: the descriptor is not closed before that thread is done with it.
struct ConnectionStateMachine {
    enum State: Equatable {
        /// The host is looked up.
        case resolving
        /// An address of the host is tried.
        case connecting
        /// The TLS handshake goes on.
        case securing(wantsWrite: Bool)
        /// The commands that come first have no replies yet.
        case greeting(Output)
        /// It takes the commands of callers.
        case ready(Output)
        /// It was closed while a thread was writing.
        case closing
        /// Nothing happens any more.
        case ended
    }

    /// Who sends what there is to send.
    enum Output: Equatable {
        /// Nobody yet.
        case idle
        /// One thread is writing.
        case writing
        /// The engine's thread, when the socket takes bytes.
        case blocked
        /// Nobody any more: writing has failed. What came before that is still read.
        case broken
    }

    enum Event {
        case hostFound
        /// The address that was tried refuses; there may be others.
        case addressFailed
        case connected(isSecure: Bool)
        case handshakeWaits(toWrite: Bool)
        case secured
        /// All replies to the commands that come first are good.
        case greeted
        /// A command of a caller, or of the engine, was added to the output.
        case submitted(PendingCommand)
        /// The output is to be sent, by the caller or by the engine's thread.
        case outputReady(byCaller: Bool)
        /// The socket takes bytes, or is connected.
        case writable
        /// The socket has bytes, or its end.
        case readable
        case wrote(Rest)
        case writeFailed
        /// A reply was read.
        case replied
        /// It is lost, too late, or not wanted any more.
        case closed
    }

    /// What is left to write.
    enum Rest: Equatable {
        case nothing
        /// All was sent, and more was added meanwhile.
        case more
        /// The socket takes no more for now.
        case part
    }

    /// What is to be done.
    enum Action {
        case none
        /// Try the next address of the host.
        case connect
        /// Ask the socket whether it is connected.
        case check
        case handshake
        /// Put the commands that come first into the output.
        case greet
        /// Take the output, and write.
        case write
        /// Have the engine's thread wait until the socket takes bytes.
        case poll
        case read
        /// The reply is one to the commands that come first.
        case takeGreeting
        /// The reply is that of this command.
        case answer(PendingCommand)
        /// The reply is that of no command, so the connection must be closed.
        case refuse
        /// End both directions; the descriptor stays.
        case shutDown
        /// Fail these commands. The descriptor is closed if nobody writes, otherwise shut down.
        case close(failed: PendingQueue, isFree: Bool)
        /// Close the descriptor, after `close` has left it.
        case release
    }

    private(set) var state = State.resolving
    /// Commands without a reply, in their order.
    private(set) var pending = PendingQueue()

    /// Whether it takes the commands of callers.
    var isReady: Bool { if case .ready = state { true } else { false } }
    /// Whether it was closed.
    var isOver: Bool { state == .closing || state == .ended }
    /// Whether the output waits for somebody to write it.
    var isIdle: Bool { state == .ready(.idle) }
    /// Whether the thread waits until the socket takes bytes.
    var wantsWrite: Bool {
        switch state {
        case .connecting, .securing(wantsWrite: true), .greeting(.blocked), .ready(.blocked): true
        default: false
        }
    }

    /// Moves to the next state.
    ///
    /// An event that means nothing in the current state changes nothing.
    /// - Returns: What is to be done.
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

    /// Lets go of the callers for which a condition holds; the replies to their commands are dropped.
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

/// A command that was written to a connection, and whose reply has not come.
struct PendingCommand {
    enum Kind {
        case command
        /// The `OK` of `ASKING`.
        case asking
        /// The slots of the cluster.
        case slots
    }

    var kind: Kind
    /// Who waits; nil if nobody does, or not any more.
    var reply: PendingReply?
    /// When the connection is given up if there is no reply.
    var stallsAt: Int64
}

/// Commands in the order in which their replies come.
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
