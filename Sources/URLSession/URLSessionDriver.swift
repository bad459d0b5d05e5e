// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import TurnpikeCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The sessions, the delegate of the sessions, and the queues for their methods.
///
/// On Linux, `dataTask`, `resume` and `cancel` wait for the single network queue of the process.
/// The driver therefore calls these methods on separate queues, and never on the cooperative pool,
/// in a cancellation handler or in a delegate callback. Starts and cancellations have different
/// queues, because hundreds of starts may wait for a busy network queue.
// SAFETY: `state` guards all state, and sessions may be used from any thread.
final class URLSessionDriver: NSObject, @unchecked Sendable {
    private struct State {
        // The key is the task object, because task identifiers are unique only within a session.
        var exchanges: [ObjectIdentifier: URLSessionExchange] = [:]
        // The session is created for the first exchange. The release of the session closes the
        // connections.
        var session: URLSession?
        var lanes: URLSessionLanes<URLSession, URLSessionExchange>
        var isInvalid = false
    }

    private let state: Mutex<State>
    private let starts = DispatchQueue(label: "turnpike.urlsession.starts", qos: .userInitiated)
    private let cancels = DispatchQueue(label: "turnpike.urlsession.cancels", qos: .userInitiated)
    private let callbacks = URLSessionCallbacks.queue()
    private let maxConnectionsPerHost: Int

    init(maxConnectionsPerHost: Int) {
        self.maxConnectionsPerHost = maxConnectionsPerHost
        state = Mutex(State(lanes: URLSessionLanes(maxPerOrigin: maxConnectionsPerHost)))
        super.init()
    }

    private func makeSession() -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        // Without this setting, FoundationNetworking searches every header line for cookies, which
        // takes between a tenth and a third of the time of a request.
        configuration.httpCookieAcceptPolicy = .never
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpMaximumConnectionsPerHost = maxConnectionsPerHost
        // Callers set their own time limits. The time limit of URLSession is rounded to whole
        // seconds, includes the wait for a connection, and traps if the limit is infinite.
        configuration.timeoutIntervalForRequest = URLSessionRequest.timeout
        return URLSession(configuration: configuration, delegate: self, delegateQueue: callbacks)
    }

    func start(_ exchange: URLSessionExchange) {
        starts.async { [self] in
            if let origin = exchange.ownLane { return startInLane(exchange, origin) }
            guard let session = openSession() else { return exchange.refuse() }
            begin(exchange, in: session)
        }
    }

    private func startInLane(_ exchange: URLSessionExchange, _ origin: Origin) {
        let place = state.withLock { state in
            state.isInvalid ? nil : state.lanes.place(exchange, for: origin)
        }
        switch place {
        case nil: exchange.refuse()
        case .inLine: break
        case .free(let session): beginInLane(exchange, session)
        case .new:
            let session = makeSession()
            state.withLock { $0.lanes.occupy(session, for: origin) }
            beginInLane(exchange, session)
        }
    }

    private func beginInLane(_ exchange: URLSessionExchange, _ session: URLSession) {
        if !begin(exchange, in: session) { leaveLane(session) }
    }

    private func leaveLane(_ session: URLSession) {
        let (next, surplus) = state.withLock { $0.lanes.release(session) }
        if next == nil, surplus == nil { return }
        starts.async { [self] in
            surplus?.finishTasksAndInvalidate()
            guard let next else { return }
            // Foundation crashes the process if a task is created in an invalidated session.
            if state.withLock({ $0.isInvalid }) { return next.refuse() }
            beginInLane(next, session)
        }
    }

    @discardableResult
    private func begin(_ exchange: URLSessionExchange, in session: URLSession) -> Bool {
        exchange.begin { request in
            let task = session.dataTask(with: request)
            state.withLock { $0.exchanges[ObjectIdentifier(task)] = exchange }
            return task
        }
    }

    private func openSession() -> URLSession? {
        let (session, isInvalid) = state.withLock { ($0.session, $0.isInvalid) }
        if session != nil || isInvalid { return session }
        let made = makeSession()
        state.withLock { $0.session = made }
        return made
    }

    func cancel(_ task: URLSessionTask) { cancels.async { task.cancel() } }

    func abandon(_ task: URLSessionTask) {
        state.withLock { $0.exchanges[ObjectIdentifier(task)] = nil }
        cancel(task)
    }

    /// Ends the sessions immediately, or after their last tasks.
    func invalidate(cancelling: Bool) {
        // This block runs after the waiting starts, because the creation of a task after the
        // invalidation crashes the process.
        starts.async { [self] in
            let (session, exchanges, lanes) = state.withLock { state in
                defer {
                    state.isInvalid = true
                    state.session = nil
                }
                return (state.session, state.exchanges, state.lanes.removeAll())
            }
            for exchange in lanes.inLine { exchange.refuse() }
            // The exchanges are cancelled one by one, because `invalidateAndCancel` does not
            // respect the order that redirects require.
            if cancelling { for (_, exchange) in exchanges { exchange.cancel() } }
            // This call returns before the tasks have ended.
            session?.finishTasksAndInvalidate()
            for session in lanes.sessions { session.finishTasksAndInvalidate() }
        }
    }

    private func exchange(_ task: URLSessionTask) -> URLSessionExchange? {
        state.withLock { $0.exchanges[ObjectIdentifier(task)] }
    }
}

extension URLSessionDriver: URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        // On Linux, FoundationNetworking ignores any other argument.
        completionHandler(.allow)
        exchange(dataTask)?.didReceive(response)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(dataTask)?.didReceive(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        let exchange = state.withLock { $0.exchanges.removeValue(forKey: ObjectIdentifier(task)) }
        exchange?.didComplete(response: task.response, error: error)
        leaveLane(session)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {
        exchange(task)?.didSendData(totalBytesSent)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        exchange(task)?.refuseRedirect(completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler:
            @escaping @Sendable (
                URLSession.AuthChallengeDisposition, URLCredential?
            ) -> Void
    ) {
        #if canImport(FoundationNetworking)
        // Only Basic challenges arrive here, after the head and the body. No argument of the
        // completion handler returns a plain 401: the default hangs, and a rejection becomes a
        // cancellation. The exchange therefore ends before the cancellation of its task.
        exchange(task)?.didReceiveChallenge()
        #else
        let isHTTP =
            challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
        completionHandler(isHTTP ? .rejectProtectionSpace : .performDefaultHandling, nil)
        #endif
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        // The method must not wait, because FoundationNetworking on Linux calls this method on the
        // network queue.
        completionHandler(exchange(task)?.secondStream())
    }
}

/// The queue on which a session calls its delegate.
private enum URLSessionCallbacks {
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
/// FoundationNetworking adds each callback as one block, and only from the network queue. An
/// operation would cost two thread switches, which took a fifth of the time of a request. The
/// number of chunks in waiting operations would be unbounded. A callback must therefore not wait
/// for a reader, or for a lock that is held during a call of URLSession.
// SAFETY: the class has no state.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}
#endif
