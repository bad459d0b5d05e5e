import Foundation

/// Where a session calls its delegate.
enum URLSessionCallbacks {
    /// A queue that calls in order.
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
/// Runs what FoundationNetworking hands it at once, on the network queue.
///
/// It adds each callback as one block, from that queue alone. An operation for each costs two
/// thread hops, which were a fifth of the time of a request, and while operations wait for their
/// thread the chunks that they carry are bounded by nothing. So a callback must not wait: neither
/// for a lock under which URLSession is called, nor for a reader.
// SAFETY: it has no state of its own.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}
#endif
