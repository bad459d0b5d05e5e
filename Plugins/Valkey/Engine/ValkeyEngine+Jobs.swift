// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// Runs tasks on the engine's thread.
///
/// The commands of these tasks are sent in pieces, and the last piece is sent after each task has
/// run. No other thread must be woken. Unless another thread is writing, no command waits for a
/// time.
extension ValkeyEngine: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // No wake-up is needed, because the engine's thread runs the jobs before the next wait.
        if poller.isTurn, jobs.add(job) { return }
        // A job in this loop may release the client, and with the client the engine.
        let own = unsafe Unmanaged.passRetained(self)
        defer { unsafe own.release() }
        guard jobs.add(job) else { return globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
        withState { $0.wake() }
    }

    /// Runs the waiting jobs.
    ///
    /// Jobs that are added during this method run after the next check of the network.
    func runJobs(_ list: inout [UnownedJob]) {
        jobs.take(into: &list)
        for job in list { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        list.removeAll(keepingCapacity: true)
    }

    func writeOwn() {
        let all = withState { state -> [Writing] in
            if !state.hasOwn { return [] }
            state.hasOwn = false
            let now = Poller.now
            return state.allNodes.flatMap(\.connections).filter { !$0.output.isEmpty }
                .compactMap { beginWrite($0, now) }
        }
        for writing in all { write(writing) }
    }
}

/// The object for the waits of the engine's thread.
// SAFETY: the pointer is valid until `free`, which the engine calls after its thread has ended.
// Any thread may call `wake`. `setAlarm` is called inside the engine's lock. Only the
// engine's thread waits.
@safe struct Poller: @unchecked Sendable {
    private let pointer: OpaquePointer

    init() throws {
        guard let pointer = unsafe tpv_poller_create() else {
            throw ClientError(
                .connection,
                "no event loop could be made; check the limit of open files (ulimit -n)")
        }
        unsafe self.pointer = pointer
    }

    func free() { unsafe tpv_poller_free(pointer) }
    func wake() { unsafe tpv_poller_wake(pointer) }
    func setAlarm(_ time: Int64) { unsafe tpv_poller_set_alarm(pointer, time) }
    /// Sets whether the thread will do the remaining work before the next wait.
    func setTurn(_ isTurn: Bool) { unsafe tpv_poller_set_turn(pointer, isTurn) }
    var isTurn: Bool { unsafe tpv_poller_is_turn(pointer) }
    func wait(_ polls: inout [tpv_poll], sleeping sleeps: Bool) {
        unsafe polls.withUnsafeMutableBufferPointer {
            unsafe tpv_poller_wait(pointer, $0.baseAddress, $0.count, sleeps)
        }
    }
    static var now: Int64 { tpv_now() }
}
