// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The queue on which a session calls its delegate.
enum URLSessionCallbacks {
    /// Creates a serial queue for callbacks.
    static func queue() -> OperationQueue {
        #if canImport(FoundationNetworking)
        let queue = InlineQueue()
        #else
        let queue = OperationQueue()
        #endif
        queue.maxConcurrentOperationCount = 1
        queue.name = "turnpike.urlsession.callbacks"
        queue.qualityOfService = .userInitiated
        return queue
    }
}

#if canImport(FoundationNetworking)
/// Runs callbacks of FoundationNetworking immediately, on its network queue.
///
/// FoundationNetworking adds each callback as one block, and only from that queue. Operations would
/// cost two thread switches each, which took a fifth of the time of a request, and the number of
/// chunks in waiting operations would be unbounded. A callback must therefore not wait, neither for
/// a reader nor for a lock under which URLSession is called.
// SAFETY: the class has no state of its own.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}
#endif
