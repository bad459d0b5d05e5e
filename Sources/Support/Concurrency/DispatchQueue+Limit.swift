// SPDX-License-Identifier: Apache-2.0

public import Dispatch
import Synchronization

extension DispatchQueue {
    /// Runs work after all earlier work in the queue, and returns after the work or a time limit.
    ///
    /// The limit is in real time, because the work waits for another process and not for a call.
    /// - Returns: Whether the work was done before the limit.
    @discardableResult
    public func run(within limit: Duration, _ work: @escaping @Sendable () -> Void) async -> Bool {
        await withCheckedContinuation { continuation in
            let moment = OneResumption(continuation)
            self.async {
                work()
                moment.resume(returning: true)
            }
            let limit = DispatchTimeInterval.nanoseconds(Int(limit.wholeNanoseconds))
            DispatchQueue.global().asyncAfter(deadline: .now() + limit) {
                moment.resume(returning: false)
            }
        }
    }
}

private final class OneResumption: Sendable {
    private let continuation: Mutex<CheckedContinuation<Bool, Never>?>

    init(_ continuation: CheckedContinuation<Bool, Never>) {
        self.continuation = Mutex(continuation)
    }

    func resume(returning isDone: Bool) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: isDone)
    }
}
