import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One task of the session and the exchange that it feeds.
///
/// The order of `cancel()` against the redirect answer is what keeps FoundationNetworking from
/// trapping. Both are put on the network queue, and an answer behind a cancellation is fatal: so
/// an answer is given under the lock, unless the cancellation was announced, and `cancel()` is
/// called once it is. It is called without the lock, for it waits for the network queue, on which
/// the callbacks run and take that lock.
final class URLSessionExchange: Sendable {
    private enum Run {
        case waiting
        case starting(URLSessionTask)
        // A task may be cancelled once it was resumed.
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
        // The declared length, once the head has come.
        var length: Int64?
        // A whole body in one chunk, which waits for the completion.
        var whole: Data?
    }

    /// The origin to which the request needs a connection that no other one uses meanwhile; nil for
    /// one that libcurl may send again (``URLSessionLanes``), and where it has HTTP/1.1 alone.
    let ownLane: Origin?

    private let upload: Upload
    // As the caller has it: the wire's has no fragment.
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
        ownLane = isRepeatable || url.scheme?.lowercased() != "https" ? nil : Origin(url)
        #else
        ownLane = nil
        #endif
    }

    // What libcurl knows the size of it sends at once; before more of a stream it asks whether the
    // connection takes it. From then on FoundationNetworking burns a core until the exchange has
    // ended: it never stops waiting for what is there already.
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

    func cancel() {
        driver.cancel { [self] in
            state.withLock { state in
                if state.isCancelled { return nil }
                switch state.run {
                case .waiting, .starting:
                    state.isCancelled = true
                    return nil
                case .running(let task):
                    state.isCancelled = true
                    return task
                case .finished: return nil
                }
            }
        }
    }

    // On the queue of the starts.
    /// - Returns: Whether there is a task now.
    func begin(_ make: (URLRequest) -> URLSessionTask) -> Bool {
        if state.withLock({ $0.isCancelled }) { return false }
        var request = request
        if let data {
            request.httpBody = data
        } else {
            request.httpBodyStream = upload.makeStream()
        }
        let task = make(request)
        state.withLock { $0.run = .starting(task) }
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

    /// The body for libcurl to send again: it does so, whatever the method, when a kept-alive
    /// connection ended without a byte of an answer.
    ///
    /// The server may have acted on the first one, so a request that is not repeatable ends here
    /// instead. nil where the task has no body stream.
    func secondStream() -> InputStream? {
        if upload.length == nil { return nil }
        guard isRepeatable else {
            fail(
                ClientError(
                    .connection,
                    "the kept-alive connection ended after the request was written, so the server"
                        + " may have acted on it; it is not sent twice. If that is safe, mark it"
                        + " retryable() or give it an Idempotency-Key",
                    transfer: TransferState(.sending, bodyBytesSent: upload.bytesSent)))
            // A stream in the place of a body in memory is fatal.
            return data == nil ? InputStream(data: Data()) : nil
        }
        guard data != nil else { return upload.makeStream() }
        startAgain()
        return nil
    }

    // libcurl has nothing left of a body in memory to send again.
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
                    .connection, "one kept-alive connection after the other ended as it was used",
                    transfer: TransferState(.sending, bodyBytesSent: upload.bytesSent)))
        }
        driver.abandon(task)
        driver.start(self)
    }

    func didSendData(_ total: Int64) { if data != nil { upload.didSend(total) } }

    // MARK: On the network queue, or Apple's delegate queue

    func didReceive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else {
            return fail(ClientError(.protocol, "the answer is not an HTTP response"))
        }
        // FoundationNetworking tells of each interim response; 101 is final, its bytes are the
        // body.
        if (100..<200).contains(response.statusCode), response.statusCode != 101 { return }
        publish(response)
    }

    private func opening(of response: HTTPURLResponse) -> Result<Exchange.Opening, ClientError> {
        URLSessionHead.opening(of: response, to: url, method: request.httpMethod ?? "GET")
    }

    private func publish(_ response: HTTPURLResponse) {
        guard !hasHead.exchange(true, ordering: .relaxed), let exchange else { return }
        switch opening(of: response) {
        case .success(let opening):
            feed.withLock { $0.length = opening.length }
            exchange.receive(opening)
        case .failure(let error): fail(error)
        }
    }

    // A small body comes in one chunk, and the completion in the same breath: its reader is woken
    // once for both.
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
        // Where a redirecting response has no usable Location its head is not announced.
        if !hasHead, let response = response as? HTTPURLResponse {
            switch opening(of: response) {
            case .success(var opening):
                opening.length = nil
                exchange.receive(opening)
            case .failure(let error): return exchange.fail(error)
            }
        }
        exchange.finish()
    }
}
