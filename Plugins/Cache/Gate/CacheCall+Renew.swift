// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

extension CacheCall {
    private static let partialFields: [HTTPHeaders.Name] = [
        .range, .ifRange, .ifNoneMatch, .ifModifiedSince,
    ]

    /// Validates an entry with the origin (RFC 9111 §4.3).
    func renew(_ entry: CacheEntry, _ reason: CacheOutcome) async throws -> Response {
        if request.method == .head { return try await renewByHead(entry, reason) }
        if request.headers.contains(where: { Self.partialFields.contains($0.name) }) {
            return try await forwardPart(entry, reason)
        }
        if !request.options.allowSharing { return try await renewAlone(entry, reason) }
        try context.checkCancellation()
        let seat = state.revalidations.join(
            RevalidationKey(entry.response, request, next), context: context.detached())
        if seat.isFirst {
            state.revalidations.start(seat) { await fly(entry, reason, seat, $0) }
        } else {
            context.report("waits for a validation that is under way", by: "Cache")
        }
        let landing: Revalidations.Landing
        do {
            landing = try await state.revalidations.landing(seat, in: context)
        } catch {
            return try await staleOnError(entry, error)
        }
        switch landing {
        case .shared(.confirmed(let validation)):
            guard isFor(validation.entry.response) else { break }
            return validated(validation, reason, isCollapsed: !seat.isFirst)
        case .own(let response):
            return try await checked(response.adopted(by: context), entry, reason)
        case .shared(.answered(let answer)):
            if isFor(answer.stored) { return try await given(answer, entry, reason, seat) }
            // The response is for another caller, but a server error applies to all callers.
            if Self.isServerFault(answer.head.status), mayStandIn(entry),
                let response = await stand(in: entry, status: answer.head.status.code)
            {
                return response
            }
        case .alone: break
        }
        return try await renewAlone(entry, reason)
    }

    // Whether this call could have found the response of another call in the store.
    private func isFor(_ response: StoredResponse) -> Bool {
        keys.allows(response.key, isPersonal: response.freshness.isPersonal)
            && response.variant.matches(request.headers, of: response.head.headers)
    }

    private func given(
        _ answer: Revalidated.Answer, _ entry: CacheEntry, _ reason: CacheOutcome,
        _ seat: Revalidations.Seat
    ) async throws -> Response {
        let content: Data
        switch answer.content {
        case .success(let data): content = data
        case .failure(let error): return try await staleOnError(entry, error)
        }
        var head = answer.head
        if !seat.isFirst {
            // Only the first caller sent the request. The other callers get a stored response.
            head.headers = answer.stored.head.headers
            head.isStored = true
        }
        var response = Response(head: head, body: ResponseBody(content))
        response = marked(
            response, reason, isStored: answer.isStored, isCollapsed: !seat.isFirst)
        return try await checked(response, entry, reason)
    }

    /// Refreshes an entry in the background after a stale response (RFC 5861 §3).
    func refresh(_ entry: CacheEntry) {
        var plain = request
        plain.method = .get
        plain.headers.removeAll { Self.partialFields.contains($0.name) }
        let call = CacheCall(
            request: plain, keys: keys, context: context, next: next, state: state,
            options: options)
        let seat = state.revalidations.join(
            RevalidationKey(entry.response, request, next), context: context.sideCall())
        guard seat.isFirst else {
            return state.revalidations.leave(seat, CancellationError())
        }
        state.background.run { await call.flyInBackground(entry, seat) }
    }

    private func flyInBackground(_ entry: CacheEntry, _ seat: Revalidations.Seat) async {
        guard let side = state.revalidations.context(of: seat) else { return }
        // The time limit ends only this call's wait, because other calls may wait longer.
        let end = side.timeSource.now.advanced(by: options.refreshLimit)
        let timer = side.timeSource.schedule(after: options.refreshLimit) { [state] in
            state.revalidations.leave(seat, CancellationError())
        }
        defer { timer.cancel() }
        // The exchange has its own task, which is cancelled when the last call stops waiting.
        state.revalidations.start(seat) { await fly(entry, .stale, seat, $0) }
        let landing = try? await state.revalidations.landing(seat, in: side)
        guard case .own(let own) = landing else { return }
        let response = own.adopted(by: side)
        let canceller = response.body.canceller
        let rest = max(side.timeSource.now.duration(to: end), .zero)
        let bodyTimer = side.timeSource.schedule(after: rest) { canceller.cancel(.drop) }
        defer { bodyTimer.cancel() }
        // The loop stores the response. If reading fails, nothing is stored.
        do { for try await _ in response.body {} } catch {}
    }

    // MARK: The exchange

    private func fly(
        _ entry: CacheEntry, _ reason: CacheOutcome, _ seat: Revalidations.Seat, _ inner: Context
    ) async {
        let flights = state.revalidations
        do {
            var response: Response
            let isStored: Bool
            switch try await validate(entry, inner) {
            case .confirmed(let validation):
                return flights.land(seat, .success(.confirmed(validation)))
            case .answered(let answer, let isRecorded): (response, isStored) = (answer, isRecorded)
            }
            if flights.waiting(seat) > 1, response.body.length ?? 0 <= options.sharedBytes,
                var answer = answer(response.head, isStored: isStored)
            {
                let content = try await response.body.peek(upTo: options.sharedBytes + 1)
                if content.count <= options.sharedBytes {
                    answer.content = .success(content)
                    return flights.land(seat, .success(.answered(answer)))
                }
            }
            // The response may depend on header fields that differ between the waiting requests.
            flights.giveBack(seat, .success(marked(response, reason, isStored: isStored)))
        } catch {
            // An inner validator may have turned a response into an error.
            guard let head = Outcome(request: request, result: .failure(error)).head else {
                return flights.land(seat, .failure(error))
            }
            guard var answer = answer(head, isStored: false) else {
                return flights.giveBack(seat, .failure(error))
            }
            answer.content = .failure(error)
            flights.land(seat, .success(.answered(answer)))
        }
    }

    // Returns a response that may be stored, or a server error, for all waiting callers. Any other
    // response is only for the requesting caller, and the result is nil (RFC 9111 §4).
    private func answer(_ head: ResponseHead, isStored: Bool) -> Revalidated.Answer? {
        let control = CacheControl(head.headers)
        let mayBeShared = !control.noStore && Storability.allows(head, control)
        guard mayBeShared || Self.isServerFault(head.status),
            let stored = prepared(head, control, requestTime: date)
        else { return nil }
        return Revalidated.Answer(
            head: head, content: .success(Data()), stored: stored, isStored: isStored)
    }

    private func renewAlone(_ entry: CacheEntry, _ reason: CacheOutcome) async throws -> Response {
        do {
            switch try await validate(entry, context) {
            case .confirmed(let validation):
                return validated(validation, reason, isCollapsed: false)
            case .answered(let response, let isStored):
                return try await checked(
                    marked(response, reason, isStored: isStored), entry, reason)
            }
        } catch {
            return try await staleOnError(entry, error)
        }
    }

    private func validated(
        _ validation: Validation, _ reason: CacheOutcome, isCollapsed: Bool
    ) -> Response {
        state.counts.add(.validated)
        let entry = validation.entry
        let left = entry.response.freshness.timeLeft(at: date)
        var response = response(
            entry, .whole,
            CacheStatus.validated(reason, secondsLeft: left, isCollapsed: isCollapsed))
        // The caller whose request was sent gets the new cookies instead of stored cookies.
        if !validation.cookies.isEmpty, !isCollapsed {
            var headers = response.headers
            headers.remove(.setCookie)
            for line in validation.cookies { headers.append(.setCookie, line) }
            response.head = response.head.replacing(headers: headers)
            response.head.isStored = false
        }
        return response
    }

    // MARK: Errors

    /// Returns the response, or the entry if a stale entry may replace an error (RFC 5861 §4).
    func checked(
        _ response: Response, _ entry: CacheEntry, _ reason: CacheOutcome
    ) async throws -> Response {
        guard Self.isServerFault(response.status), mayStandIn(entry),
            let other = await stand(in: entry, status: response.status.code)
        else {
            state.counts.add(reason)
            return response
        }
        await response.discard(in: context)
        return other
    }

    func staleOnError(_ entry: CacheEntry, _ error: any Error) async throws -> Response {
        try await staleOnError(entry, Outcome(request: request, result: .failure(error)))
    }

    func staleOnError(_ entry: CacheEntry, _ outcome: Outcome) async throws -> Response {
        guard !outcome.isCancellation, context.cancelReason == nil, !Task.isCancelled,
            Self.isPassing(outcome), mayStandIn(entry, isReachable: !Self.isUnreachable(outcome)),
            let response = await stand(in: entry, status: outcome.status?.code)
        else { return try outcome.result.get() }
        return response
    }

    // Returns nil if the entry cannot be read or does not contain the requested range. In this
    // case, the caller gets the origin's response.
    private func stand(in entry: CacheEntry, status: Int?) async -> Response? {
        let left = entry.response.freshness.timeLeft(at: date)
        let text = CacheStatus.staleOnError(status, secondsLeft: left)
        guard let response = try? await begun(entry, text) else { return nil }
        state.counts.add(.staleHit)
        context.report("uses a stale response instead of an error", by: "Cache")
        return response
    }

    func mayStandIn(_ entry: CacheEntry, isReachable: Bool = true) -> Bool {
        let control = CacheControl(request.headers)
        let standard =
            isReachable
            ? options.staleIfError : max(options.staleIfError, options.staleIfUnreachable)
        return !control.noCache
            && mayStandIn(entry, control.staleIfError.map(Double.init) ?? standard.inSeconds)
    }

    // `standard`, in seconds, applies to entries without `stale-if-error`. A stored server error
    // never replaces another server error.
    private func mayStandIn(_ entry: CacheEntry, _ standard: Double) -> Bool {
        let freshness = entry.response.freshness
        let allowed = freshness.staleIfError ?? standard
        return !freshness.mustRevalidate && !freshness.noCache && allowed > 0
            && -freshness.timeLeft(at: date) <= allowed
            && !Self.isServerFault(entry.response.head.status)
    }

    /// Whether an entry may replace a server error for this request or for another request.
    func isStandIn(_ entry: CacheEntry) -> Bool {
        let freshness = entry.response.freshness
        return mayStandIn(entry) || mayStandIn(entry, options.staleIfError.inSeconds)
            || -freshness.timeLeft(at: date) < freshness.staleWhileRevalidate
                && !Self.isServerFault(entry.response.head.status)
    }

    static func isServerFault(_ status: HTTPStatus) -> Bool {
        switch status.code {
        case 500, 502, 503, 504: true
        default: false
        }
    }

    private static func isUnreachable(_ outcome: Outcome) -> Bool {
        switch outcome.code {
        case .connection, .dns, .connectTimeout: true
        default: false
        }
    }

    private static func isPassing(_ outcome: Outcome) -> Bool {
        if let status = outcome.status { return isServerFault(status) }
        switch outcome.code {
        case .connection, .dns, .tls, .incomplete, .protocol, .attemptTimeout, .connectTimeout,
            .idleTimeout, .circuitOpen, .overloaded, .rateLimited, .retryBudget:
            return true
        default: return false
        }
    }
}
