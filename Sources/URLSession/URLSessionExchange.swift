// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A task of the session, and the exchange that receives the response.
///
/// FoundationNetworking traps if a redirect is answered after `cancel()`. The answer and `cancel()`
/// are queued on the network queue. The redirect is therefore answered under the lock, and only if
/// the exchange is not marked as cancelled. `cancel()` is called only after the exchange is marked.
/// `cancel()` is called without the lock, because `cancel()` waits for the network queue, on which
/// callbacks wait for the lock.
final class URLSessionExchange: Sendable {
    private enum Run {
        case waiting
        case starting(URLSessionTask)
        // The task was resumed, and any thread may therefore cancel the task.
        case running(URLSessionTask)
        case finished
    }

    private struct State {
        var run = Run.waiting
        var isCancelled = false
        var restarts = 0
    }

    private struct Feed {
        var exchange: Exchange?
        // The declared length, which is known after the head has arrived.
        var length: Int64?
        // The whole body, if the body arrived in one chunk. The exchange stores the body until the
        // task completes.
        var whole: Data?
    }

    // The origin, if the request needs a separate connection (``URLSessionLanes``). The origin is
    // nil if libcurl may send the request again, or if the connection uses HTTP/1.1.
    let ownLane: Origin?

    private let upload: Upload
    // The URL of the caller with a fragment, which is not sent.
    private let url: URL
    private let request: URLRequest
    private let isRepeatable: Bool
    private let driver: URLSessionDriver
    private let feed = Mutex(Feed())
    private let hasHead = Atomic(false)
    private let state = Mutex(State())

    init(
        url: URL, request: URLRequest, isRepeatable: Bool, upload: Upload, driver: URLSessionDriver
    ) {
        self.url = url
        self.request = request
        self.isRepeatable = isRepeatable
        self.upload = upload
        self.driver = driver
        #if canImport(FoundationNetworking)
        let origin = Origin(url)
        ownLane = isRepeatable || origin?.scheme != "https" ? nil : origin
        #else
        ownLane = nil
        #endif
    }

    // libcurl sends a body of known size at once. For a stream, libcurl first checks whether the
    // connection is writable. After this question, FoundationNetworking uses a full core until the
    // exchange ends, because the wait for the connection returns immediately.
    private var data: Data? {
        #if canImport(FoundationNetworking)
        upload.small
        #else
        nil
        #endif
    }

    private static let maxRestarts = 5

    func start(feeding exchange: Exchange) {
        feed.withLock { $0.exchange = exchange }
        upload.onFault { [weak self] in self?.fail($0) }
        driver.start(self)
    }

    /// Cancels the exchange.
    ///
    /// The exchange is marked on the calling thread. The driver's queues may wait for the network
    /// queue for a long time, and must not start an exchange that has ended during this wait.
    func cancel(because reason: CancelReason? = nil) {
        let run = state.withLock { state in
            if state.isCancelled { return Run.finished }
            state.isCancelled = true
            return state.run
        }
        switch run {
        case .waiting, .starting:
            let code = (reason?.error as? ClientError)?.code
            guard code == .deadlineExceeded || code == .attemptTimeout else { return }
            upload.context?.report(
                notStartedBecause: "another exchange of the process kept URLSession's network queue"
                    + " busy, or all connections were in use",
                by: "URLSessionTransport")
        case .running(let task): driver.cancel(task)
        case .finished: break
        }
    }

    /// Creates and starts the task.
    ///
    /// The driver calls this method on the queue for starts.
    /// - Returns: Whether the exchange now has a task.
    func begin(_ make: (URLRequest) -> URLSessionTask) -> Bool {
        if state.withLock({ $0.isCancelled }) { return false }
        var request = request
        if let data {
            request.httpBody = data
        } else {
            request.httpBodyStream = upload.makeStream()
        }
        let task = make(request)
        let isCancelled = state.withLock { state in
            state.run = .starting(task)
            return state.isCancelled
        }
        // The cancellation of a task that was not resumed is reported like any other cancellation.
        if isCancelled {
            task.cancel()
            return true
        }
        task.resume()
        let wasCancelled = state.withLock { state in
            guard case .starting(task) = state.run else { return false }
            state.run = .running(task)
            return state.isCancelled
        }
        if wasCancelled { task.cancel() }
        return true
    }

    func refuse() {
        exchange?.fail(ClientError(.cancelled, "the transport was shut down; make a new client"))
    }

    private func fail(_ error: ClientError) {
        exchange?.fail(error)
        cancel()
    }

    private var exchange: Exchange? { feed.withLock { $0.exchange } }

    // Returns the body for a second send by libcurl, or nil if the task has no body stream. If a
    // kept-alive connection ends before a response, libcurl sends a request of any method again.
    // The server may have processed the first request. A request that is not repeatable therefore
    // fails instead.
    func secondStream() -> InputStream? {
        if upload.length == nil { return nil }
        guard isRepeatable else {
            fail(
                ClientError(
                    .connection,
                    "the kept-alive connection ended after the request was written, so the server"
                        + " may have acted on it. If a second send is safe, mark the request"
                        + " retryable() or give it an Idempotency-Key",
                    transfer: TransferState(
                        .sending, bodyBytesSent: upload.bytesSent, lostReusedConnection: true)))
            // Foundation crashes the process if this method returns a stream for a body in memory.
            return data == nil ? InputStream(data: Data()) : nil
        }
        // The transport cannot prevent the second send, but the transport counts this send.
        upload.countResend()
        guard data != nil else { return upload.makeStream() }
        startAgain()
        return nil
    }

    private func startAgain() {
        let task = state.withLock { state -> URLSessionTask? in
            guard !state.isCancelled, state.restarts < Self.maxRestarts else { return nil }
            let task: URLSessionTask
            switch state.run {
            case .waiting, .finished: return nil
            case .starting(let present), .running(let present): task = present
            }
            state.restarts += 1
            state.run = .waiting
            return task
        }
        guard let task else {
            return fail(
                ClientError(
                    .connection, "several kept-alive connections ended when they were used",
                    transfer: TransferState(.sending, bodyBytesSent: upload.bytesSent)))
        }
        driver.abandon(task)
        driver.start(self)
    }

    func didSendData(_ total: Int64) { if data != nil { upload.didSend(total) } }

    // MARK: On the network queue, or Apple's delegate queue

    func didReceive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else {
            return fail(ClientError(.protocol, "the response is not an HTTP response"))
        }
        // FoundationNetworking reports each interim response. A 101 is a final response, and the
        // bytes after the 101 are the body.
        if (100..<200).contains(response.statusCode), response.statusCode != 101 { return }
        publish(response)
    }

    private func head(of response: HTTPURLResponse) -> Result<Exchange.Head, ClientError> {
        URLSessionHead.head(of: response, to: url, method: request.httpMethod ?? "GET")
    }

    private func publish(_ response: HTTPURLResponse) {
        guard !hasHead.exchange(true, ordering: .relaxed), let exchange else { return }
        switch head(of: response) {
        case .success(let head):
            feed.withLock { $0.length = head.length }
            exchange.receive(head)
        case .failure(let error): fail(error)
        }
    }

    // A small body arrives in one chunk, immediately before the completion. The reader wakes up
    // once for both events.
    func didReceive(_ data: Data) {
        let exchange = feed.withLock { feed -> Exchange? in
            guard feed.length == Int64(data.count) else { return feed.exchange }
            feed.whole = data
            return nil
        }
        exchange?.receive(data)
    }

    private func takeFeed() -> Exchange? {
        let feed = self.feed.withLock { feed in
            defer { feed = Feed() }
            return feed
        }
        if let whole = feed.whole { feed.exchange?.receive(whole) }
        return feed.exchange
    }

    func didReceiveChallenge() {
        takeFeed()?.finish()
        cancel()
    }

    func refuseRedirect(_ answer: (URLRequest?) -> Void) {
        state.withLock { state in
            if !state.isCancelled { answer(nil) }
        }
    }

    func didComplete(response: URLResponse?, error: (any Error)?) {
        state.withLock { $0.run = .finished }
        let hasHead = hasHead.load(ordering: .relaxed)
        guard let exchange = takeFeed() else { return }
        if let error {
            exchange.fail(
                URLSessionFault.classify(error, hasHead: hasHead, bodyBytesSent: upload.bytesSent))
            return
        }
        // FoundationNetworking has not yet reported the head of a redirect without a valid
        // Location.
        if !hasHead, let response = response as? HTTPURLResponse {
            switch head(of: response) {
            case .success(var head):
                head.length = nil
                exchange.receive(head)
            case .failure(let error): return exchange.fail(error)
            }
        }
        exchange.finish()
    }
}
