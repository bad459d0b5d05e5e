// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

// SAFETY: `server` and `state` are used inside the engine's lock. The task that sets `over` writes
// the result, once. After its resumption, the caller takes the result and reads `server`.
@safe final class PendingReply: @unchecked Sendable {
    @unsafe private enum State {
        case idle
        case waits(UnsafeContinuation<Void, Never>)
        /// The caller has its result, or was cancelled before it began to wait.
        case over
    }

    /// When the caller gets an error instead of a reply, in nanoseconds of the poller's clock.
    let deadline: Int64
    let limit: Duration
    /// The node that answered; redirects and messages need its address.
    var server: NodeAddress?
    private var state = unsafe State.idle
    private var result: Result<ValkeyValue, any Error>?

    init(within limit: Duration, until deadline: Int64? = nil) {
        self.limit = limit
        self.deadline = deadline ?? Poller.now.addingClamped(limit.wholeNanoseconds)
    }

    var isOver: Bool { if case .over = unsafe state { true } else { false } }

    /// Stores the continuation of the waiting caller; a caller is resumed only after this call.
    func wait(with continuation: UnsafeContinuation<Void, Never>) {
        unsafe state = unsafe .waits(continuation)
    }

    /// Sets the result, if there is none yet; returns the continuation for the one task that
    /// resumes it.
    func settle(_ result: Result<ValkeyValue, any Error>) -> UnsafeContinuation<Void, Never>? {
        let before = unsafe state
        if case .over = unsafe before { return nil }
        unsafe state = .over
        self.result = result
        guard case .waits(let continuation) = unsafe before else { return nil }
        return unsafe continuation
    }

    /// Moves the result out; only the resumed caller calls this.
    func takeResult() throws -> ValkeyValue {
        guard let result = result.take() else { throw CancellationError() }
        return try result.get()
    }
}

/// Callers whose result is set, and who are resumed when the lock is free.
// SAFETY: each continuation was taken from its caller, so no other code resumes it.
@safe struct Outcomes {
    private var list: [UnsafeContinuation<Void, Never>]

    init() { unsafe list = [] }

    var isEmpty: Bool { unsafe list.isEmpty }

    mutating func add(_ pending: PendingReply, _ result: Result<ValkeyValue, any Error>) {
        if let continuation = unsafe pending.settle(result) { unsafe list.append(continuation) }
    }

    mutating func resume() {
        for index in unsafe list.indices { unsafe list[index].resume() }
        unsafe list.removeAll(keepingCapacity: true)
    }
}

enum Route: Sendable {
    /// The primary, or any node of a cluster.
    case any
    /// The node that has the slot of a key, if the server is a cluster.
    case key(Data)
    case node(NodeAddress)
    /// The node that an `ASK` redirect named, and that does not have the slot yet.
    case asking(NodeAddress)
}
