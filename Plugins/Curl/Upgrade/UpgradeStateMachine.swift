// SPDX-License-Identifier: Apache-2.0

/// The states of an upgraded connection, and how each event changes the state.
///
/// This file has no side effects. ``CurlUpgrade`` creates the events, and carries out the actions.
///
///     waiting ── admitted ──▶ connecting ── connected ──▶ open ── finishAsked ──▶ finishing
///      ── allSent ──▶ finished ── ended ──▶ closed
///
/// A connection that ends becomes `closed` from every state. From `connecting` it first becomes
/// `abandoned`, because the thread of ``UpgradeLoop`` may be inside libcurl or an address rule.
struct UpgradeStateMachine {
    enum State: Equatable {
        /// The connection waits for a place among the connections.
        case waiting
        /// The connection has a place. Only the thread of the loop uses libcurl for the connection.
        case connecting
        /// The connection sends and receives; the holder of the lock uses libcurl.
        case open
        /// The connection sends the rest of its bytes, and receives.
        case finishing
        /// The connection only receives.
        case finished
        /// The connection ended while connecting, and the thread of the loop has not noticed yet.
        case abandoned
        case closed
    }

    enum Event: CaseIterable {
        case admitted
        case connected
        /// The caller has no more bytes to send.
        case finishAsked
        case allSent
        /// The caller abandoned the connection, or it failed.
        case ended
        /// The thread of the loop is not inside libcurl.
        case threadPassed
    }

    /// The actions to carry out, in this order; ``notify`` and later actions run without the lock.
    struct Actions: OptionSet {
        let rawValue: UInt8
        static let begin = Actions(rawValue: 1 << 0)
        static let endSending = Actions(rawValue: 1 << 1)
        static let open = Actions(rawValue: 1 << 2)
        /// Report to all waiting tasks that the connection has ended.
        static let notify = Actions(rawValue: 1 << 3)
        static let wake = Actions(rawValue: 1 << 4)
        /// Free libcurl's part, which closes the socket.
        static let free = Actions(rawValue: 1 << 5)
        static let leave = Actions(rawValue: 1 << 6)
    }

    private(set) var state = State.waiting
    private let isSecure: Bool

    /// - Parameter isSecure: Whether the connection uses TLS, which ends both directions at once.
    init(isSecure: Bool) { self.isSecure = isSecure }

    // Moves to the next state, and returns the actions. An event that has no meaning in the
    // current state changes nothing.
    mutating func handle(_ event: Event) -> Actions {
        switch (state, event) {
        case (.waiting, .admitted): return move(to: .connecting, .begin)
        case (.waiting, .ended): return move(to: .closed, [.notify, .leave])
        case (.connecting, .connected): return move(to: .open, .open)
        case (.connecting, .ended): return move(to: .abandoned, [.notify, .wake])
        case (.abandoned, .threadPassed): return move(to: .closed, [.free, .leave])
        case (.open, .finishAsked): return move(to: .finishing)
        case (.finishing, .allSent) where !isSecure: return move(to: .finished, .endSending)
        case (.finishing, .allSent), (.open, .ended), (.finishing, .ended), (.finished, .ended):
            return move(to: .closed, [.notify, .free, .leave])
        default: return []
        }
    }

    private mutating func move(to next: State, _ actions: Actions = []) -> Actions {
        state = next
        return actions
    }
}
