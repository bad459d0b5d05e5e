// SPDX-License-Identifier: Apache-2.0

/// A waiting continuation and the result to resume it with after a lock is released.
// SAFETY: resumed once, by the code that took the continuation.
@safe struct Waiting<Value: Sendable> {
    private let continuation: UnsafeContinuation<Value, any Error>
    private let result: Result<Value, any Error>

    init(_ continuation: UnsafeContinuation<Value, any Error>, _ result: Result<Value, any Error>) {
        unsafe self.continuation = continuation
        self.result = result
    }

    func resume() { unsafe continuation.resume(with: result) }
}
