// SPDX-License-Identifier: Apache-2.0

/// The states of an upgraded connection, and the transitions for each event.
///
/// This file has no side effects. ``CurlUpgrade`` creates the events, and performs the actions.
///
///     waiting ── admitted ──▶ connecting ── connected ──▶ open ── finishAsked ──▶ finishing
///      ── allSent ──▶ finished ── ended ──▶ closed
///
/// The end of a connection leads from every state to `closed`, from `connecting` by way of
/// `abandoned`, because the thread of ``UpgradeLoop`` may be inside libcurl or an address rule.
struct UpgradeStateMachine {
    enum State: Equatable {
        /// The connection waits for permission within the limits.
        case waiting
        /// The connection connects. Only the thread of the loop uses libcurl for the connection.
        case connecting
        /// The connection sends and receives. The owner of the lock uses libcurl.
        case open
        /// The connection sends the remaining bytes, and receives.
        case finishing
        /// The connection only receives.
        case finished
        /// The connection ended during the connect, and the thread of the loop has not noticed yet.
        case abandoned
        case closed
    }

    enum Event: CaseIterable {
        case admitted
        case connected
        /// The caller has no more bytes to send.
        case finishAsked
        case allSent
        /// The caller abandoned the connection, or the connection failed.
        case ended
        /// The thread of the loop is not inside libcurl.
        case threadPassed
    }

    // The actions, in the order of execution. ``notify`` and later actions run without the lock.
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

    /// - Parameter isSecure: Whether the connection uses TLS, whose end closes both directions.
    init(isSecure: Bool) { self.isSecure = isSecure }

    // Changes the state, and returns the actions. An event without a meaning has no effect.
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
