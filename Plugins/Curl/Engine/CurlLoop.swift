// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore

/// The loop around libcurl's multi handle, in C. `CTurnpikeCurl.h` describes each function.
// SAFETY: the pointer is valid until `free`, which the engine calls after its thread has ended.
// Any thread may call `wake`, `interruptPoll` and `isHere`. Only the engine's thread calls
// `enter`, `wait` and `waitForWakeup`, without the engine's lock. All other functions are called
// under the lock.
@safe struct CurlLoop: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(_ limits: tpc_limits, _ library: CurlLibrary) throws {
        var limits = limits
        guard let pointer = unsafe tpc_loop_create(library.pointer, &limits) else {
            throw ClientError(
                .connection,
                "no event loop could be made; check the limit of open files (ulimit -n)")
        }
        unsafe self.pointer = pointer
    }

    /// Runs a closure on a new thread, with a stack size in bytes.
    static func startThread(stack: Int, _ run: @escaping @Sendable () -> Void) throws {
        let context = unsafe Unmanaged.passRetained(Work(run: run)).toOpaque()
        let isStarted = unsafe tpc_start_thread(
            stack,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        if isStarted { return }
        unsafe Unmanaged<Work>.fromOpaque(context).release()
        throw ClientError(.connection, "no thread could be made; check the limit of processes")
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void
        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }

    func watch(_ figures: ConnectionFigures) {
        var watcher = unsafe figures.watcher
        unsafe tpc_loop_watch(pointer, &watcher)
    }

    var descriptor: Int32 { unsafe tpc_loop_descriptor(pointer) }
    func poll(_ descriptor: Int32, for sides: Int32, insteadOf former: Int32) -> Bool {
        unsafe tpc_loop_poll_descriptor(pointer, descriptor, former, sides)
    }
    func found(_ index: Int) -> (descriptor: Int32, sides: Int32)? {
        var sides: Int32 = 0
        let descriptor = unsafe tpc_loop_found(pointer, Int32(index), &sides)
        return descriptor < 0 ? nil : (descriptor, sides)
    }
    func endWaiting() { unsafe tpc_loop_end_waiting(pointer) }
    func close() { unsafe tpc_loop_close(pointer) }
    func free() { unsafe tpc_loop_free(pointer) }
    func enter(name: String) { unsafe tpc_loop_enter(pointer, name) }
    var isHere: Bool { unsafe tpc_loop_is_here(pointer) }
    func wake() { unsafe tpc_loop_wakeup(pointer) }
    func wait(_ milliseconds: Int32) { unsafe tpc_loop_wait(pointer, milliseconds) }
    func waitForWakeup(_ milliseconds: Int32) {
        unsafe tpc_loop_wait_for_wakeup(pointer, milliseconds)
    }
    var mayPoll: Bool { unsafe tpc_loop_may_poll(pointer) }
    func poll() -> Bool { unsafe tpc_loop_poll(pointer) }
    func interruptPoll() { unsafe tpc_loop_interrupt_poll(pointer) }
    func clearInterrupt() { unsafe tpc_loop_clear_interrupt(pointer) }
    var isIdle: Bool { unsafe tpc_loop_is_idle(pointer) }
    func beginIteration() { unsafe tpc_loop_begin_iteration(pointer) }
    func endIteration() { unsafe tpc_loop_end_iteration(pointer) }
    func act() { unsafe tpc_loop_act(pointer) }
    func runTimers() { unsafe tpc_loop_run_timers(pointer) }
    var due: Int64 { unsafe tpc_loop_due(pointer) }
    static var now: Int64 { tpc_loop_now() }
    static func timeout(until due: Int64) -> Int32 { tpc_loop_timeout(due) }

    func takeRefusal() -> Bool { unsafe tpc_loop_take_refusal(pointer) }

    func nextReady() -> CurlHandle? {
        unsafe tpc_loop_next_ready(pointer).map { unsafe CurlHandle($0) }
    }

    func makeHandle(_ options: CurlOptions) throws -> CurlHandle {
        guard let handle = unsafe CurlHandle(loop: pointer) else {
            throw ClientError(.connection, "libcurl has no memory for another transfer")
        }
        do {
            try options.apply(to: handle)
        } catch {
            handle.free()
            throw error
        }
        return handle
    }
}
