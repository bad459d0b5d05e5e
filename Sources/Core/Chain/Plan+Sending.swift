// SPDX-License-Identifier: Apache-2.0

extension Plan {
    /// Checks and completes a request, outside the frame of the caller, which must be small.
    @inline(never)
    private func completed(_ request: Request, in context: Context) throws -> Request {
        try context.checkCancellation()
        let body = request.body
        if let fault = body.fault { throw fault }
        if let fault = request.fault { throw ClientError(.invalidRequest, fault) }
        try body.checkFiles()
        if body.isLive,
            let unmet = transport.capabilities.fault(
                missing: .liveUpload, for: "the live request body")
        {
            throw unmet
        }
        if body.hasTrailers,
            let unmet = transport.capabilities.fault(
                missing: .requestTrailers, for: "the request body")
        {
            throw unmet
        }
        if !request.options.isEmpty, request.options.connectTarget != nil,
            let unmet = transport.capabilities.fault(
                missing: .connectTargets, for: "the request's connect target")
        {
            throw unmet
        }
        if !request.options.isEmpty, request.options.upgrade != nil,
            let unmet = transport.capabilities.fault(
                missing: .upgrades, for: "the request for another protocol")
        {
            throw unmet
        }
        var request = request
        // A gate may have replaced the body of the request.
        request.describeBody()
        if body.hasTrailers { request.announceTrailers() }
        request.uniteCookies()
        request.askForPlainRange()
        return request
    }

    func send(_ request: Request, in context: Context) async throws -> Response {
        let request = try completed(request, in: context)
        var isSecond = false
        while true {
            do {
                return try await exchange(request, in: context)
            } catch {
                if isSecond { throw (error as? ClientError)?.behindASend ?? error }
                guard mayResend(request, after: error, in: context) else { throw error }
                isSecond = true
                context.report(
                    "a kept-alive connection ended before an answer; the request is sent once more",
                    by: "Client")
            }
        }
    }

    /// Whether a request is sent again after its kept-alive connection ended before an answer.
    ///
    /// If ``RequestRetrier/decidesResend(of:)`` of an outer retrier is true, that retrier decides.
    private func mayResend(
        _ request: Request, after error: any Error, in context: Context
    ) -> Bool {
        guard (error as? ClientError)?.transfer?.lostReusedConnection == true else { return false }
        let record = context.call.record
        record.didLoseConnection()
        guard let limits = context.resendLimits, request.isRepeatable,
            request.body.isReplayable, !request.options.isOneTime, !Task.isCancelled,
            context.cancelReason == nil, record.takeResend(limit: Self.sendLimit)
        else { return false }
        var given: [@Sendable () -> Void] = []
        for limit in limits {
            guard let giveBack = limit() else {
                for giveBack in given { giveBack() }
                return false
            }
            given.append(giveBack)
        }
        return true
    }

    private func exchange(_ request: Request, in context: Context) async throws -> Response {
        let (inner, number) = try begin(request, in: context)
        var response: Response
        do {
            response = try await transport.send(request, context: inner)
        } catch {
            if inner.isRead { inner.left(.failure(error)) }
            inner.call.record.didFail(number)
            throw error
        }
        receive(&response, to: request, exchange: number, in: inner)
        return response
    }

    @inline(never)
    private func begin(_ request: Request, in context: Context) throws -> (Context, Int) {
        guard
            let number = context.call.record.willSend(
                request, attempt: context.attempt, at: context.timeSource.now,
                limit: Self.sendLimit)
        else {
            throw ClientError(
                .sendLimit,
                "one call was about to be sent more than \(Self.sendLimit) times; look for a retry around"
                    + " another retry, or a replay that never succeeds")
        }
        let inner = context.entering(.exchange(request)) ?? context
        inner.tell(.sent(request))
        return (inner, number)
    }

    @inline(never)
    private func receive(
        _ response: inout Response, to request: Request, exchange number: Int, in context: Context
    ) {
        let record = context.call.record
        let headAt = context.timeSource.now
        record.didReceiveHead(
            of: response, in: number, at: headAt, unless: context.cancelReason != nil)
        response.didArrive(at: headAt, in: record, exchange: number)
        if let connection = response.upgradedConnection {
            // The registration retains the call until the connection is closed.
            let registration = context.onCancel { [weak connection] _ in connection?.close() }
            let report: @Sendable (Int, Bool) -> Void = {
                context.report(.message(bytes: $0, isSent: $1))
            }
            let status = response.status
            connection.follow(onMessage: context.isRead ? report : nil) {
                registration.end()
                context.left(.success(status))
            }
        }
        response.body.storage.attach(
            to: context.call, ExchangeDetails(history: record, head: response.head),
            exchange: number)
        if response.status.hasNoContent || request.method == .head {
            response.body.refuseContent(of: response.status, to: request.method)
        }
        response.body.storage.endIfNothingComes()
        context.tell(.received(response, to: request))
    }
}
