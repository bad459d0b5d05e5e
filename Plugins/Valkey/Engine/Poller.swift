// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import TurnpikeCore

/// What the engine's thread waits with.
// SAFETY: the pointer is valid until `free`, which the engine calls at its end, when it has no thread
// any more. Any thread may call `wake`; `setAlarm` is called inside the engine's lock; the engine's
// thread alone waits.
@safe struct Poller: @unchecked Sendable {
    private let pointer: OpaquePointer

    init() throws {
        guard let pointer = unsafe tpv_poller_create() else {
            throw ClientError(
                .connection, "no event loop could be made; are there descriptors left?")
        }
        unsafe self.pointer = pointer
    }

    func free() { unsafe tpv_poller_free(pointer) }
    func wake() { unsafe tpv_poller_wake(pointer) }
    func setAlarm(_ time: Int64) { unsafe tpv_poller_set_alarm(pointer, time) }
    /// Notes that the thread will see to what is left to it, or no longer will before it waits.
    func setTurn(_ isTurn: Bool) { unsafe tpv_poller_set_turn(pointer, isTurn) }
    /// Whether this is the engine's thread, in its turn.
    var isTurn: Bool { unsafe tpv_poller_is_turn(pointer) }
    func wait(_ polls: inout [tpv_poll], sleeping sleeps: Bool) {
        unsafe polls.withUnsafeMutableBufferPointer {
            unsafe tpv_poller_wait(pointer, $0.baseAddress, $0.count, sleeps)
        }
    }
    static var now: Int64 { tpv_now() }
}
