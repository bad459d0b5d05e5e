// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TurnpikeSupport

/// Runs reads that block, one after the other, on a queue of their own.
///
/// A task that waits for one holds no thread of the pool, and its wait can be cancelled although the
/// read cannot.
struct BlockingReads: Sendable {
    private let queue = DispatchQueue(label: "turnpike.input")

    /// Returns what a read returns.
    /// - Throws: The error of the read, or `CancellationError` if the waiting task is cancelled. The
    ///   read then ends later, and its result is lost.
    func value<Value: Sendable>(
        of read: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let value = OneShot<Value>()
        queue.async { value.settle(Result { try read() }) }
        return try await value.value { value.settle(.failure(CancellationError())) }
    }
}
