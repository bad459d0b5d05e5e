// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// A caller that waits for a reply.
// SAFETY: `server` and `state` are used inside the engine's lock. The task that sets `over` writes
// the result, once. After its resumption, the caller takes the result and reads `server`.
@safe final class PendingReply: @unchecked Sendable {
    @unsafe private enum State {
        case idle
        case waits(UnsafeContinuation<Void, Never>)
        /// The caller has its result, or was cancelled before it began to wait.
        case over
    }

    /// When the caller gets an error instead of a reply, by the poller's clock.
    let deadline: Int64
    let limit: Duration
    /// The node that answered, for redirects and messages.
    var server: NodeAddress?
    private var state = unsafe State.idle
    private var result: Result<ValkeyValue, any Error>?

    init(within limit: Duration, until deadline: Int64? = nil) {
        self.limit = limit
        self.deadline = deadline ?? Poller.now.addingClamped(limit.wholeNanoseconds)
    }

    /// Whether there is a result.
    var isOver: Bool { if case .over = unsafe state { true } else { false } }

    /// Notes the waiting caller.
    ///
    /// A caller is resumed only after this.
    func wait(with continuation: UnsafeContinuation<Void, Never>) {
        unsafe state = unsafe .waits(continuation)
    }

    /// Sets the result, unless there is one already.
    /// - Returns: The continuation, only once, for the task that resumes it.
    func settle(_ result: Result<ValkeyValue, any Error>) -> UnsafeContinuation<Void, Never>? {
        let before = unsafe state
        if case .over = unsafe before { return nil }
        unsafe state = .over
        self.result = result
        guard case .waits(let continuation) = unsafe before else { return nil }
        return unsafe continuation
    }

    /// Moves the result out, for the caller after its resumption.
    func takeResult() throws -> ValkeyValue {
        guard let result = result.take() else { throw CancellationError() }
        return try result.get()
    }
}

/// Callers that have a result and are resumed when the lock is free.
// SAFETY: each continuation was taken from its caller, so no other code resumes it.
@safe struct Outcomes {
    private var list: [UnsafeContinuation<Void, Never>]

    init() { unsafe list = [] }

    var isEmpty: Bool { unsafe list.isEmpty }

    mutating func add(_ pending: PendingReply, _ result: Result<ValkeyValue, any Error>) {
        if let continuation = unsafe pending.settle(result) { unsafe list.append(continuation) }
    }

    /// Resumes all callers, and keeps the memory.
    mutating func resume() {
        for index in unsafe list.indices { unsafe list[index].resume() }
        unsafe list.removeAll(keepingCapacity: true)
    }
}

/// The node that gets a command.
enum Route: Sendable {
    /// The primary, or any node of a cluster.
    case any
    /// The node that has the slot of a key, if the server is a cluster.
    case key(Data)
    /// The node that another node has named in a redirect.
    case node(NodeAddress)
    /// The same, but the node does not have the slot yet.
    case asking(NodeAddress)
}
