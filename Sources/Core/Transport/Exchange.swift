// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

/// One send of one request.
///
/// The transport passes the head, the chunks and the end of the response to the exchange. The
/// caller reads the response from the exchange. The caller's task, the context (for example at a
/// deadline), the release of the body, and a ``RunningCall`` can each cancel the exchange with a
/// reason. The first reason takes effect: the caller gets the error of the reason at once,
/// `onCancel` stops the transport, and later bytes of the peer are ignored. An exchange ends
/// exactly once.
///
/// ```swift
/// func send(_ request: Request, context: Context) async throws -> Response {
///     let exchange = Exchange(context: context) { _ in connection.close() }
///     connection.start(request, feeding: exchange)
///     return try await exchange.response()
/// }
/// ```
public final class Exchange: Sendable {
    private let core: ExchangeCore
    private let flow: Flow
    private let onResume: @Sendable () -> Void

    /// Creates an exchange that ends with a context.
    /// - Parameters:
    ///   - context: The context whose cancellation ends the exchange.
    ///   - flow: The limits on buffered bytes, for a reader that is slower than the peer.
    ///   - onResume: Called when a paused transport may continue.
    ///   - onCancel: Called at most once, if the exchange is cancelled before the transport ends
    ///     the exchange. The closure must return at once, and may run before the initializer
    ///     returns.
    public init(
        context: Context, flow: Flow = .pausing(),
        onResume: @escaping @Sendable () -> Void = {},
        onCancel: @escaping @Sendable (CancelReason) -> Void
    ) {
        self.flow = flow
        self.onResume = onResume
        core = ExchangeCore(flow, onCancel)
        core.listen(to: context)
    }

    deinit { core.stopListening() }

    // MARK: The transport's side

    /// Passes the head of the response; a second head is ignored.
    public func receive(_ head: Head) { open(.success(.read(head))) }

    /// Passes the head together with the first chunk of the body, which wakes the caller only once.
    /// - Parameters:
    ///   - head: The head.
    ///   - chunk: The first chunk.
    ///   - isComplete: Whether the chunk is the whole body. If true, this chunk ends the response.
    /// - Returns: False if the transport must pause until `onResume` is called.
    @discardableResult
    public func receive(_ head: Head, with chunk: Data, isComplete: Bool = false) -> Bool {
        receive(.read(head), with: .data(chunk), isComplete: isComplete)
    }

    /// Passes an unparsed head, which the reader parses, and the first chunk of the body.
    @discardableResult
    public func receive(
        _ head: any LazyResponseHead, with chunk: BodyChunk, isComplete: Bool
    ) -> Bool {
        receive(.unread(head), with: chunk, isComplete: isComplete)
    }

    private func receive(
        _ head: ArrivedHead, with chunk: BodyChunk, isComplete: Bool
    ) -> Bool {
        let goesOn = receive(chunk)
        if isComplete { close(.complete) }
        open(.success(head))
        return goesOn
    }

    /// Passes a chunk of the body.
    /// - Returns: False if the transport must pause until `onResume` is called.
    @discardableResult
    public func receive(_ chunk: Data) -> Bool { receive(BodyChunk.data(chunk)) }

    /// Passes a chunk of the body, whose memory may belong to another library.
    /// - Returns: False if the transport must pause until `onResume` is called.
    @discardableResult
    public func receive(_ chunk: BodyChunk) -> Bool {
        enum Step {
            case unwanted
            case buffered(goesOn: Bool)
            case overflow(any Error)
        }
        let (step, reader) = core.state.withLock { state -> (Step, Waiting<BodyChunk?>?) in
            guard state.end == nil, chunk.count > 0 else { return (.unwanted, nil) }
            if let reader = unsafe state.reader {
                unsafe state.reader = nil
                return (.buffered(goesOn: true), unsafe Waiting(reader, .success(chunk)))
            }
            do {
                try state.buffer.append(chunk)
            } catch {
                return (.overflow(error), nil)
            }
            state.isPaused = state.buffer.count >= flow.highWater
            return (.buffered(goesOn: !state.isPaused), nil)
        }
        reader?.resume()
        switch step {
        case .unwanted:
            chunk.drop()
            return true
        case .buffered(let goesOn): return goesOn
        case .overflow(let error):
            cancel(.failed(error))
            return false
        }
    }

    /// Passes the trailer fields (RFC 9110 §6.5), before the transport ends the exchange.
    ///
    /// Fields that are not allowed in trailers are dropped later (``ResponseBody/trailers``). The
    /// transport must limit the size of the section, and refuse malformed field lines.
    public func receive(trailers: HTTPHeaders) {
        core.state.withLock { if $0.end == nil { $0.trailers = trailers.fields } }
    }

    /// Ends a complete response; without a head, the error is ``ClientError/Code/protocol``.
    public func finish() {
        guard close(.complete) else { return }
        let error = ClientError(
            .protocol, "the transport ended an exchange without a response",
            transfer: TransferState(.sending))
        open(.failure(error))
    }

    /// Ends the exchange with an error, which the reader gets after the chunks that have arrived.
    public func fail(_ error: any Error) {
        if close(.broken(error)) { open(.failure(error)) }
    }

    /// Whether the exchange has ended.
    public var hasEnded: Bool { core.state.withLock { $0.end != nil } }

    private func open(_ result: Result<ArrivedHead, any Error>) {
        core.state.withLock { $0.open(result) }?.resume()
    }

    @discardableResult
    private func close(_ end: ExchangeCore.End) -> Bool {
        let (isFirst, reader, registration) = core.state.withLock {
            state -> (Bool, Waiting<BodyChunk?>?, CancelRegistration?) in
            guard state.end == nil else { return (false, nil, nil) }
            state.end = end
            defer {
                unsafe state.reader = nil
                state.registration = nil
            }
            let reading = unsafe state.reader.map { unsafe Waiting($0, end.rest) }
            return (true, reading, state.registration)
        }
        guard isFirst else { return false }
        registration?.end()
        reader?.resume()
        return true
    }

    // MARK: The caller's side

    /// Waits for the head.
    /// - Throws: The error that ended the exchange; if cancelled, `CancellationError` at once.
    public func response() async throws -> Response {
        let head: Head
        do {
            head = try await arrivedHead().get()
        } catch {
            // `cancel` has no effect on an exchange that has failed.
            cancel(.failed(error))
            throw error
        }
        let body = ResponseBody(
            storage: ResponseBodyStorage(
                .ready(self), length: head.length, encodedLength: head.encodedLength))
        return Response(head: head.response, body: body)
    }

    private func arrivedHead() async throws -> ArrivedHead {
        if let result = core.state.withLock({ $0.head.take() }) { return try result.get() }
        return try await withTaskCancellationHandler {
            try unsafe await withUnsafeThrowingContinuation { continuation in
                let result = core.state.withLock { state in
                    let result = state.head.take()
                    if result == nil { unsafe state.waiter = continuation }
                    return result
                }
                if let result { unsafe continuation.resume(with: result) }
            }
        } onCancel: {
            cancel(.task)
        }
    }
}

extension Exchange: ReadySource {
    func takeReady() throws -> ReadyChunk {
        guard let taken = try takeBuffered() else { return .notYet }
        return taken.chunk.map { .chunk($0.data()) } ?? .end
    }

    /// Waits for the next chunk.
    /// - Returns: The chunk, or nil at the end.
    /// - Throws: The error that ended the exchange; if cancelled, `CancellationError` at once.
    public func next() async throws -> Data? {
        let chunk = try await withTaskCancellationHandler {
            try unsafe await withUnsafeThrowingContinuation { continuation in
                let taken = Result { try unsafe take(orWait: continuation) }
                switch taken {
                case .success(nil): break
                case .success(let taken?): unsafe continuation.resume(returning: taken.chunk)
                case .failure(let error): unsafe continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            cancel(.task)
        }
        return chunk?.data()
    }

    /// How much of the response has arrived, read or unread.
    public var arrival: ResponseBodyArrival {
        core.state.withLock { state in
            switch state.end {
            // The rest of an abandoned response never arrives; time limits may end the response.
            case nil, .givenUp: .underWay
            case .complete: .complete
            case .broken: .broken
            }
        }
    }

    /// The trailer fields that have arrived.
    public var trailers: HTTPHeaders {
        core.state.withLock { $0.trailers }.map(HTTPHeaders.init(received:)) ?? [:]
    }

    /// Cancels the exchange, drops the unread chunks, and stops the transport.
    ///
    /// If the transport has already ended the exchange, `onCancel` is not called, and
    /// ``CancelReason/expired(_:)`` has no effect.
    public func cancel(_ reason: CancelReason) { core.cancel(reason) }

    private struct Taken { let chunk: BodyChunk? }

    private func takeBuffered() throws -> Taken? {
        let (taken, resumes) = try core.state.withLock { try take(&$0) }
        if resumes { onResume() }
        return taken
    }

    private func take(
        orWait continuation: UnsafeContinuation<BodyChunk?, any Error>
    ) throws -> Taken? {
        let (taken, resumes) = try core.state.withLock { state in
            let result = try take(&state)
            if result.0 == nil { unsafe state.reader = continuation }
            return result
        }
        if resumes { onResume() }
        return taken
    }

    private func take(_ state: inout ExchangeCore.State) throws -> (Taken?, resumes: Bool) {
        guard let chunk = try state.buffer.popFirst() else {
            guard let end = state.end else { return (nil, false) }
            return (Taken(chunk: try end.rest.get()), false)
        }
        let resumes = state.isPaused && state.buffer.count <= flow.lowWater
        if resumes { state.isPaused = false }
        return (Taken(chunk: chunk), resumes)
    }
}

extension Exchange {
    /// The parts of a response that are known when the head is complete.
    public struct Head: Sendable {
        /// The status and the header fields.
        public var response: ResponseHead
        /// The number of bytes of the body, or nil if unknown.
        public var length: Int64?
        /// The number of bytes of the body before decoding, or nil if unknown.
        public var encodedLength: Int64?

        /// Creates a head.
        public init(_ response: ResponseHead, length: Int64? = nil, encodedLength: Int64? = nil) {
            self.response = response
            self.length = length
            self.encodedLength = encodedLength
        }
    }
}

/// A head that has arrived and that the reader parses later.
///
/// The thread that uses the head also allocates the memory of the head. Both threads must wait if
/// one thread allocates memory and another thread frees that memory.
public protocol LazyResponseHead: AnyObject, Sendable {
    /// Parses the head, and is called at most once.
    /// - Throws: The fault of the head.
    func read() throws -> Exchange.Head
}
