// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import TurnpikeEssentials
import TurnpikeSupport

/// One exchange, which connects async-http-client's task with the ``Exchange`` of the caller.
///
/// async-http-client retains the exchange until the end of the task, and uses one event loop.
final class HTTPExchange: Sendable {
    private let request: TurnpikeEssentials.Request
    private let traits: AsyncHTTPClientTransport.ClientTraits
    private let context: Context
    private let upload: Upload?
    // Retains the transport's own `HTTPClient` until the end of the exchange.
    private let holder: ClientHolder
    private let state = Mutex(HTTPExchangeState())
    private let end = SharedValue<Void>()

    init(
        _ request: TurnpikeEssentials.Request, traits: AsyncHTTPClientTransport.ClientTraits,
        context: Context, upload: Upload?, holder: ClientHolder
    ) {
        self.request = request
        self.traits = traits
        self.context = context
        self.upload = upload
        self.holder = holder
        let exchange = Exchange(
            context: context,
            onResume: { [weak self] in self?.resume() },
            onCancel: { [weak self] _ in self?.stop(CancellationError()) })
        state.withLock { state in
            state.exchange = exchange
            if upload == nil { state.sending = .done }
        }
    }

    private var exchange: Exchange? { state.withLock { $0.exchange } }

    func start(_ wire: WireRequest, onEnd: @escaping @Sendable (HTTPExchange) -> Void) {
        let mayBegin = state.withLock { state in
            guard case .starting = state.run else { return false }
            state.run = .executing
            return true
        }
        guard mayBegin else {
            end.settle(.success(()))
            return onEnd(self)
        }
        let task = holder.client.execute(request: wire.request, delegate: self)
        let isWanted = state.withLock { state in
            switch state.run {
            case .executing: state.run = .running(task)
            case .givenUp: return false
            case .starting, .running, .ended: break
            }
            return true
        }
        if !isWanted { task.fail(reason: CancellationError()) }
        task.futureResult.whenComplete { [self] result in
            // This code handles errors that async-http-client does not report to the delegate.
            if case .failure(let error) = result { fail(error) }
            end.settle(.success(()))
            onEnd(self)
        }
    }

    func response() async throws -> TurnpikeEssentials.Response {
        guard let exchange else { throw CancellationError() }
        return try await exchange.response()
    }

    func shutDown() {
        let givenUp = state.withLock { $0.giveUp() }
        exchange?.fail(Fault.wasShutDown(givenUp.phase))
        stop(givenUp, HTTPClientError.cancelled)
    }

    func ended() async { try? await end.value() }

    // MARK: Ends

    private func stop(_ reason: any Error) {
        stop(state.withLock { $0.giveUp() }, reason)
    }

    private func stop(_ givenUp: HTTPExchangeState.GivenUp, _ reason: any Error) {
        givenUp.task?.fail(reason: reason)
        givenUp.promise?.succeed()
        upload?.close()
    }

    private func fail(_ error: any Error) {
        let (exchange, transfer) = close()
        exchange?.fail(Fault.of(error, transfer))
    }

    // Ends the exchange after the last report of async-http-client.
    private func close() -> (Exchange?, TransferState) {
        let (exchange, transfer, promise) = state.withLock { state in
            state.run = .ended
            return (state.exchange, state.transfer, state.takeDemand())
        }
        promise?.succeed()
        upload?.close()
        return (exchange, transfer)
    }

    private func resume() {
        let promise = state.withLock { state in
            let promise = state.takeDemand()
            if promise == nil { state.demand = .resumed }
            return promise
        }
        promise?.succeed()
    }
}

extension HTTPExchange: HTTPClientResponseDelegate {
    typealias Response = Void

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        let isFirst = state.withLock { state in
            defer { if state.reached == .connecting { state.reached = .sending } }
            return state.reached == .connecting
        }
        guard isFirst else {
            fail(Fault.followedRedirect)
            return task.fail(reason: CancellationError())
        }
        context.report(.ready(at: context.timeSource.now))
    }

    func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) {
        let total = state.withLock { state in
            state.bytesSent += Int64(part.readableBytes)
            return state.bytesSent
        }
        upload?.didSend()
        context.report(.sent(bytes: total))
    }

    func didSendRequest(task: HTTPClient.Task<Void>) { state.withLock { $0.sending = .done } }

    // async-http-client calls this method before a followed redirect, and before `didReceiveHead`.
    func didVisitURL(
        task: HTTPClient.Task<Void>, _: HTTPClient.Request, _ head: HTTPResponseHead
    ) {
        state.withLock { $0.reached = .receiving }
        guard !traits.contains(.returnsRedirects), WireHead.mayBeFollowed(head) else { return }
        if let length = receive(head) {
            if length == 0 { exchange?.finish() } else { exchange?.fail(Fault.unreadRedirect) }
        }
        // After a failure of the task, async-http-client does not follow the redirect.
        task.fail(reason: CancellationError())
    }

    func didReceiveHead(
        task: HTTPClient.Task<Void>, _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        guard let length = receive(head) else {
            task.fail(reason: CancellationError())
            return task.eventLoop.makeSucceededVoidFuture()
        }
        if head.status.code >= 300, length >= 0,
            state.withLock({ $0.receiveRefusal(length) })
        {
            finishRefusal(task)
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    /// Passes a head to the ``Exchange``.
    /// - Returns: The length of the content, -1 for an unknown length, or nil if an invalid head
    ///   has ended the exchange.
    private func receive(_ head: HTTPResponseHead) -> Int64? {
        switch WireHead.head(head, to: request, traits) {
        case .success(let head):
            exchange?.receive(head)
            return head.length ?? (head.encodedLength == 0 ? 0 : -1)
        case .failure(let error):
            exchange?.fail(error)
            return nil
        }
    }

    func didReceiveBodyPart(
        task: HTTPClient.Task<Void>, _ buffer: ByteBuffer
    ) -> EventLoopFuture<Void> {
        let exchange = exchange
        let goesOn = exchange?.receive(Data(buffer.readableBytesView)) ?? true
        if state.withLock({ $0.receive(buffer.readableBytes) }) {
            finishRefusal(task)
            return task.eventLoop.makeSucceededVoidFuture()
        }
        guard let exchange, !goesOn else {
            return task.eventLoop.makeSucceededVoidFuture()
        }
        let promise = task.eventLoop.makePromise(of: Void.self)
        let mustWait = state.withLock { state in
            if case .resumed = state.demand {
                state.demand = .open
                return false
            }
            state.demand = .awaited(promise)
            return true
        }
        // If the exchange was abandoned before this point, no other code completes the promise.
        if !mustWait {
            promise.succeed()
        } else if exchange.hasEnded {
            resume()
        }
        return promise.futureResult
    }

    // The refusal is complete, but the connection is unusable, because the upload was cut off.
    private func finishRefusal(_ task: HTTPClient.Task<Void>) {
        close().0?.finish()
        task.fail(reason: CancellationError())
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) { fail(error) }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        close().0?.finish()
    }
}
