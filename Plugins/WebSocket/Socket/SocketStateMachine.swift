// SPDX-License-Identifier: Apache-2.0

/// The state of a socket, and the transitions for each event.
///
/// This file has no side effects. ``SocketCore`` reports events, and performs the actions that
/// ``handle(_:)`` returns.
///
///     open ── closeAsked ──▶ closing ── peerClosed ──▶ draining ── connectionEnded ──▶ ended
///     open ── peerClosed, violated ──▶ answering ── closeWritten ──▶ draining
///
/// A client lets the server close the connection (RFC 6455 §7.1.1). A time limit changes every
/// state except `open` to `ended`. The end of the connection or the release of the socket changes
/// every state to `ended`.
struct SocketStateMachine {
    enum State: Equatable {
        case open
        /// The client has sent or will send a close frame, and the server has not answered.
        case closing
        /// The server has closed the socket or violated the protocol. The client's close frame is
        /// not written yet.
        case answering
        /// The close frames of both sides are sent. The server closes the connection.
        case draining
        case ended
    }

    enum Event: CaseIterable {
        case closeAsked
        case peerClosed
        case violated
        case closeWritten
        /// The connection has ended or failed.
        case connectionEnded
        case limitPassed
        /// The time limit for a pong has passed.
        case pongMissed
        /// The owner has released the socket.
        case abandoned
    }

    /// The actions to carry out, in the order of this list.
    struct Actions: OptionSet {
        let rawValue: UInt8
        /// From now on, drop content for which the inbox has no space.
        static let dropExcess = Actions(rawValue: 1 << 0)
        /// End the messages, possibly with an error.
        static let endMessages = Actions(rawValue: 1 << 1)
        static let startLimit = Actions(rawValue: 1 << 2)
        static let sendClose = Actions(rawValue: 1 << 3)
        /// Close the connection, cancel all timers, and resume the tasks that wait for the end.
        static let closeConnection = Actions(rawValue: 1 << 4)
    }

    private(set) var state = State.open

    // Changes the state, and returns the actions to carry out. Events without a meaning in the
    // current state have no effect.
    mutating func handle(_ event: Event) -> Actions {
        switch (state, event) {
        case (.ended, _): return []
        case (.open, .closeAsked):
            return move(to: .closing, [.dropExcess, .startLimit, .sendClose])
        case (.open, .peerClosed), (.open, .violated):
            return move(to: .answering, [.endMessages, .startLimit, .sendClose])
        case (.open, .connectionEnded), (.open, .pongMissed), (.open, .abandoned):
            return move(to: .ended, [.endMessages, .closeConnection])
        case (.open, _): return []
        case (.closing, .peerClosed): return move(to: .draining, .endMessages)
        case (.closing, .violated), (.closing, .connectionEnded), (.closing, .limitPassed),
            (.closing, .abandoned):
            return move(to: .ended, [.endMessages, .closeConnection])
        case (.answering, .closeWritten): return move(to: .draining)
        case (_, .connectionEnded), (_, .limitPassed), (_, .abandoned):
            return move(to: .ended, .closeConnection)
        default: return []
        }
    }

    private mutating func move(to next: State, _ actions: Actions = []) -> Actions {
        state = next
        return actions
    }
}
