public import Foundation
import Synchronization

/// One send of one request, seen from a transport: it feeds in head, chunks and end, and hears when
/// to stop.
///
/// Four can end an exchange: the task that waits, a deadline or another cancellation of the
/// context, the drop of the body, and a running handle. All of them only post a reason here; the
/// first one decides, and what the peer sends after that is nothing. So the end comes exactly once,
/// the waiter hears of it at once, and the transport closes behind it.
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

    /// Creates an exchange and ties it to a context.
    /// - Parameters:
    ///   - context: Its cancellation ends the exchange.
    ///   - flow: How much is buffered for a reader that is slower than the peer.
    ///   - onResume: Called when a producer that was told to pause may go on.
    ///   - onCancel: Called at most once, when the exchange is given up before the producer ended
    ///     it. It must return at once; perhaps it runs before the initialiser returns.
    public init(
        context: Context, flow: Flow = .pausing(),
        onResume: @escaping @Sendable () -> Void = {},
        onCancel: @escaping @Sendable (CancelReason) -> Void
    ) {
        self.flow = flow
        self.onResume = onResume
        core = ExchangeCore(flow, onCancel)
        core.heed(context)
    }

    // Nobody waits for it, and nobody feeds it.
    deinit { core.letGo() }

    // MARK: The transport's side

    /// The head has come.
    ///
    /// A second head changes nothing.
    public func receive(_ opening: Opening) { open(.success(.read(opening))) }

    /// The head has come, and with it the first of the body, or all of it.
    ///
    /// Who waits for the head finds the rest there, and need not wait again.
    /// - Returns: Whether to go on; if not, `onResume` says when.
    @discardableResult
    public func receive(_ opening: Opening, with chunk: Data, isComplete: Bool = false) -> Bool {
        receive(.read(opening), with: .data(chunk), isComplete: isComplete)
    }

    /// The head has come, which who waits for it will read, and the first of the body, or all of it.
    @discardableResult
    package func receive(
        _ opening: any UnreadOpening, with chunk: BodyChunk, isComplete: Bool
    ) -> Bool {
        receive(.unread(opening), with: chunk, isComplete: isComplete)
    }

    private func receive(
        _ opening: ArrivedOpening, with chunk: BodyChunk, isComplete: Bool
    ) -> Bool {
        let goesOn = receive(chunk)
        if isComplete { close(.success(())) }
        open(.success(opening))
        return goesOn
    }

    /// A chunk of the body has come.
    /// - Returns: Whether to go on; if not, `onResume` says when.
    @discardableResult
    public func receive(_ chunk: Data) -> Bool { receive(BodyChunk.data(chunk)) }

    @discardableResult
    package func receive(_ chunk: BodyChunk) -> Bool {
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

    /// The fields behind the content have come; call it before the end.
    ///
    /// Those that have no place there are dropped (``ResponseBody/trailers``); to bound the section
    /// and to refuse what is no field line is the transport's part.
    public func receive(trailers: HTTPHeaders) {
        core.state.withLock { if $0.end == nil { $0.trailers = trailers.fields } }
    }

    /// The response is complete.
    public func finish() { end(.success(())) }

    /// The exchange broke off.
    ///
    /// The reader gets what had come before, then the error.
    public func fail(_ error: any Error) { end(.failure(error)) }

    /// Whether the exchange has ended.
    public var hasEnded: Bool { core.state.withLock { $0.end != nil } }

    private func end(_ result: Result<Void, any Error>) {
        guard close(result) else { return }
        switch result {
        case .success:
            let error = ClientError(
                .protocol, "the transport ended an exchange without a response",
                transfer: TransferState(.sending))
            open(.failure(error))
        case .failure(let error): open(.failure(error))
        }
    }

    private func open(_ result: Result<ArrivedOpening, any Error>) {
        core.state.withLock { $0.open(result) }?.resume()
    }

    // The end of the body; gives false where it had ended.
    @discardableResult
    private func close(_ result: Result<Void, any Error>) -> Bool {
        let (isFirst, reader, registration) = core.state.withLock {
            state -> (Bool, Waiting<BodyChunk?>?, CancelRegistration?) in
            guard state.end == nil else { return (false, nil, nil) }
            state.end = result
            defer {
                unsafe state.reader = nil
                state.registration = nil
            }
            let reading = unsafe state.reader.map { unsafe Waiting($0, result.map { nil }) }
            return (true, reading, state.registration)
        }
        guard isFirst else { return false }
        registration?.end()
        reader?.resume()
        return true
    }

    // MARK: The caller's side

    /// Waits for the head.
    /// - Throws: The error that ended the exchange; `CancellationError` at once when the task is
    ///   cancelled.
    public func response() async throws -> Response {
        let opening: Opening
        do {
            opening = try await arrivedOpening().get()
        } catch {
            // Where it ended with an error, that one stays.
            cancel(.failed(error))
            throw error
        }
        let body = ResponseBody(
            source: self, length: opening.length, encodedLength: opening.encodedLength)
        return Response(head: opening.head, body: body)
    }

    private func arrivedOpening() async throws -> ArrivedOpening {
        if let result = core.state.withLock({ $0.opening.take() }) { return try result.get() }
        return try await withTaskCancellationHandler {
            try unsafe await withUnsafeThrowingContinuation { continuation in
                let result = core.state.withLock { state in
                    let result = state.opening.take()
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

extension Exchange: ResponseBodySource {
    /// What is here of the body.
    public func takeReady() throws -> ReadyChunk {
        guard let taken = try takeBuffered() else { return .notYet }
        return taken.chunk.map { .chunk($0.data()) } ?? .end
    }

    /// The next chunk.
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

    /// Whether the response has come to its end.
    public var isComplete: Bool {
        core.state.withLock { state in
            if case .success = state.end { true } else { false }
        }
    }

    /// What came behind the content.
    public var trailers: HTTPHeaders {
        core.state.withLock { $0.trailers }.map(HTTPHeaders.init(received:)) ?? [:]
    }

    /// Gives the exchange up, unless it has ended.
    ///
    /// What was buffered is dropped.
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
            switch state.end {
            case nil: return (nil, false)
            case .success: return (Taken(chunk: nil), false)
            case .failure(let error): throw error
            }
        }
        let resumes = state.isPaused && state.buffer.count <= flow.lowWater
        if resumes { state.isPaused = false }
        return (Taken(chunk: chunk), resumes)
    }
}
