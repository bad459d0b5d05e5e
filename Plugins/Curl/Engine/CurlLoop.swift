import CTurnpikeCurl
import TurnpikeCore

/// The loop around libcurl's multi handle, in C.
// SAFETY: the pointer is valid until `free`, which the engine's end calls; all but `wake`, `want`,
// `wait` and `rest` is called under the engine's lock.
@safe struct CurlLoop: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(_ limits: tpc_limits) throws {
        var limits = limits
        guard let pointer = unsafe tpc_loop_create(&limits) else {
            throw ClientError(
                .connection, "no event loop could be made; are there descriptors left?")
        }
        unsafe self.pointer = pointer
    }

    /// Closes all connections.
    func close() { unsafe tpc_loop_close(pointer) }
    func free() { unsafe tpc_loop_free(pointer) }
    /// Says that this thread is the one that waits, and names it.
    func enter(name: String) { unsafe tpc_loop_enter(pointer, name) }
    /// Whether this thread is that one.
    var isHere: Bool { unsafe tpc_loop_is_here(pointer) }
    func wake() { unsafe tpc_loop_wakeup(pointer) }
    /// Waits for sockets, a wake or the time, and looks for a moment first where that is worth it.
    func wait(_ milliseconds: Int32) { unsafe tpc_loop_wait(pointer, milliseconds) }
    /// Waits for a wake or the time.
    func rest(_ milliseconds: Int32) { unsafe tpc_loop_wait_for_wakeup(pointer, milliseconds) }
    /// Whether answers have come so soon lately that to look for them takes less than to sleep.
    var isBrisk: Bool { unsafe tpc_loop_may_poll(pointer) }
    /// Looks at the sockets for a moment, and acts on what is found.
    func look() -> Bool { unsafe tpc_loop_poll(pointer) }
    /// Ends a look of another thread, or the next one; from anywhere.
    func want() { unsafe tpc_loop_interrupt_poll(pointer) }
    /// Takes that back; before a last look at the mail.
    func unwant() { unsafe tpc_loop_clear_interrupt(pointer) }
    /// Whether libcurl waits for no socket, as it may for connections that it closes.
    var isIdle: Bool { unsafe tpc_loop_is_idle(pointer) }
    /// Says that this thread alone uses the loop from now on, and that it does no more.
    func beginTurn() { unsafe tpc_loop_begin_turn(pointer) }
    func endTurn() { unsafe tpc_loop_end_turn(pointer) }
    func act() { unsafe tpc_loop_act(pointer) }
    func runTimers() { unsafe tpc_loop_run_timers(pointer) }
    /// When time is up, in milliseconds of the loop's clock.
    var due: Int64 { unsafe tpc_loop_due(pointer) }
    static var now: Int64 { tpc_loop_now() }
    /// The milliseconds until a time, -1 for none.
    static func timeout(until due: Int64) -> Int32 { tpc_loop_timeout(due) }

    /// Whether an address was refused, and transfers that are connecting are to be nudged.
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
