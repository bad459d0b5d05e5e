// SPDX-License-Identifier: Apache-2.0

/// A caller that waits for a reply.
// SAFETY: `continuation`, `isOver` and `server` are accessed inside the engine's lock, but for `server`
// behind the resumption of its caller; the rest is constant.
@safe final class PendingReply: @unchecked Sendable {
    /// When the caller gets an error instead, by the poller's clock.
    let deadline: Int64
    let limit: Duration
    /// Which node answered, for redirects and messages.
    var server: NodeAddress?
    private var continuation: UnsafeContinuation<ValkeyValue, any Error>?
    /// The caller has its result, or was cancelled before it began to wait.
    private(set) var isOver = false

    init(deadline: Int64, limit: Duration) {
        self.deadline = deadline
        self.limit = limit
    }

    /// - Returns: False if the caller was cancelled already.
    func wait(with continuation: UnsafeContinuation<ValkeyValue, any Error>) -> Bool {
        if isOver { return false }
        unsafe self.continuation = continuation
        return true
    }

    /// Returns the continuation for the one who resumes it, once.
    func take() -> UnsafeContinuation<ValkeyValue, any Error>? {
        isOver = true
        defer { unsafe continuation = nil }
        return unsafe continuation
    }
}

/// Callers that have a result, which are resumed when the lock is free.
// SAFETY: each continuation was taken from its caller, so nobody else resumes it.
@safe struct Outcomes: ~Copyable {
    private var list: [(UnsafeContinuation<ValkeyValue, any Error>, Result<ValkeyValue, any Error>)]

    init() { unsafe list = [] }

    var count: Int { unsafe list.count }

    mutating func add(_ pending: PendingReply, _ result: Result<ValkeyValue, any Error>) {
        if let continuation = unsafe pending.take() { unsafe list.append((continuation, result)) }
    }

    mutating func resume() {
        for unsafe(continuation, result) in unsafe list {
            unsafe continuation.resume(with: result)
        }
        unsafe list.removeAll(keepingCapacity: true)
    }
}
