/// Somebody who waits, and what they get once the lock is released.
// SAFETY: it is resumed once, by the one who took the continuation.
@safe struct Waiting<Value: Sendable> {
    private let continuation: UnsafeContinuation<Value, any Error>
    private let result: Result<Value, any Error>

    init(_ continuation: UnsafeContinuation<Value, any Error>, _ result: Result<Value, any Error>) {
        unsafe self.continuation = continuation
        self.result = result
    }

    func resume() { unsafe continuation.resume(with: result) }
}
