// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

// SAFETY: `server` and `state` are used inside the engine's lock. The task that sets `over` writes
// the result once. After the resumption, the caller takes the result and reads `server`.
@safe final class PendingReply: @unchecked Sendable {
    @unsafe private enum State {
        case idle
        case waits(UnsafeContinuation<Void, Never>)
        /// The caller has a result, or was cancelled before the wait.
        case over
    }

    /// The time at which the caller gets an error, in nanoseconds of the poller's clock.
    let deadline: Int64
    let limit: Duration
    /// The node that answered; redirects and messages need the address of the node.
    var server: NodeAddress?
    private var state = unsafe State.idle
    private var result: Result<ValkeyValue, any Error>?

    init(within limit: Duration, until deadline: Int64? = nil) {
        self.limit = limit
        self.deadline = deadline ?? Poller.now.addingClamped(limit.wholeNanoseconds)
    }

    var isOver: Bool { if case .over = unsafe state { true } else { false } }

    /// Stores the continuation of the waiting caller, who is resumed only after this call.
    func wait(with continuation: UnsafeContinuation<Void, Never>) {
        unsafe state = unsafe .waits(continuation)
    }

    /// Sets the first result, and returns the continuation that the calling task must resume.
    func settle(_ result: Result<ValkeyValue, any Error>) -> UnsafeContinuation<Void, Never>? {
        let before = unsafe state
        if case .over = unsafe before { return nil }
        unsafe state = .over
        self.result = result
        guard case .waits(let continuation) = unsafe before else { return nil }
        return unsafe continuation
    }

    // Moves the result out. Only the resumed caller calls this method.
    func takeResult() throws -> ValkeyValue {
        guard let result = result.take() else { throw CancellationError() }
        return try result.get()
    }
}

/// Callers with a result, who are resumed when the lock is free.
// SAFETY: each continuation was taken from its caller, and no other code resumes the continuation.
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
    /// The node with the slot of a key, if the server is a cluster.
    case key(Data)
    case node(NodeAddress)
    /// The node of an `ASK` redirect, which does not have the slot yet.
    case asking(NodeAddress)
}
