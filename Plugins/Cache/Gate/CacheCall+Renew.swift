import Foundation
import TurnpikeCore
import TurnpikeMiddleware

extension CacheCall {
    /// Asks the origin whether an entry is still right (RFC 9111 §4.3).
    func renew(_ entry: CacheEntry, _ reason: CacheOutcome) async throws -> Response {
        if request.method == .head { return try await renewByHead(entry, reason) }
        if isPartialOrConditional { return try await forwardPart(entry, reason) }
        if !request.options.allowSharing { return try await renewAlone(entry, reason) }
        try context.checkCancellation()
        let seat = state.revalidations.join(
            RevalidationKey(entry.response, request, next), context: context.detached())
        if seat.isFirst {
            state.revalidations.start(seat) { await fly(entry, reason, seat, $0) }
        } else {
            context.note(gate: "Cache", "waits for a validation that is under way")
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
            if isFor(answer) { return try await given(answer, entry, reason, seat) }
            // It is another's answer; that the server is at fault is true for all.
            if Self.isServerFault(answer.head.status), mayStandIn(entry),
                let response = await stand(in: entry, status: answer.head.status.code)
            {
                return response
            }
        case .alone: break
        }
        return try await renewAlone(entry, reason)
    }

    // Whether an answer that another call was given is one that this call could have found stored.
    private func isFor(_ response: StoredResponse) -> Bool {
        keys.allows(response.key, isPersonal: response.freshness.isPersonal)
            && response.variant.matches(request.headers, of: response.head.headers)
    }

    private func isFor(_ answer: Revalidated.Answer) -> Bool {
        keys.allows(answer.key, isPersonal: answer.isPersonal)
            && answer.variant.matches(request.headers, of: answer.head.headers)
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
        let head = seat.isFirst ? answer.head : answer.head.shared
        var response = Response(head: head, body: ResponseBody(content))
        response.record = context.call.record
        response = marked(
            response, reason, isStored: answer.isStored, isCollapsed: !seat.isFirst)
        return try await checked(response, entry, reason)
    }

    /// Asks for an entry anew while its stale content is served (RFC 5861 §3).
    func refresh(_ entry: CacheEntry) {
        var plain = request
        plain.method = .get
        for name in [HTTPHeaders.Name.range, .ifRange, .ifNoneMatch, .ifModifiedSince] {
            plain.headers.remove(name)
        }
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
        // It gives up its own seat: others may wait for the same exchange, for longer.
        let end = side.timeSource.now.advanced(by: options.refreshLimit)
        let timer = side.timeSource.schedule(after: options.refreshLimit) { [state] in
            state.revalidations.leave(seat, CancellationError())
        }
        defer { timer.cancel() }
        // In a task of its own, which is cancelled when the seat is given up.
        state.revalidations.start(seat) { await fly(entry, .stale, seat, $0) }
        // Nobody waits for it who could be told of an error.
        let landing = try? await state.revalidations.landing(seat, in: side)
        guard case .own(let own) = landing else { return }
        let response = own.adopted(by: side)
        let canceller = response.body.canceller
        let rest = max(side.timeSource.now.duration(to: end), .zero)
        let bodyTimer = side.timeSource.schedule(after: rest) { canceller.cancel(.drop) }
        defer { bodyTimer.cancel() }
        // Reading it is what stores it; one that fails is not stored.
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
            if flights.waiting(seat) > 1, response.body.length ?? 0 <= options.maxSharedBytes,
                var answer = answer(response.head, isStored: isStored)
            {
                let content = try await response.body.peek(upTo: options.maxSharedBytes + 1)
                if content.count <= options.maxSharedBytes {
                    answer.content = .success(content)
                    return flights.land(seat, .success(.answered(answer)))
                }
            }
            // The other requests may differ in fields that nothing stored depends on.
            flights.giveBack(seat, .success(marked(response, reason, isStored: isStored)))
        } catch {
            // What a validator inside has refused is somebody's answer all the same.
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

    // What may be stored could be found by those who wait, as far as it is for them, and a fault of
    // the server would meet them too; anything else is for the one who asked (RFC 9111 §4).
    private func answer(_ head: ResponseHead, isStored: Bool) -> Revalidated.Answer? {
        let received = FieldMap(head.headers)
        let control = CacheControl(head.headers, received)
        guard
            Self.isServerFault(head.status)
                || !control.noStore && Storability.allows(head, control, received),
            let variant = Variant(head.headers, received, to: request.headers)
        else { return nil }
        let (headers, map) = Storability.fields(head.headers, control, received)
        let freshness = Freshness(
            head.replacing(headers: headers), control, map, requestTime: date, responseTime: date)
        let key = keys.key(of: control, isPersonal: freshness.isPersonal)
        return Revalidated.Answer(
            head: head, content: .success(Data()), variant: variant, key: key,
            isPersonal: freshness.isPersonal, isStored: isStored)
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
        // They are for the one whose request was answered with them.
        if !validation.cookies.isEmpty, !isCollapsed {
            // These are new, unlike those that are stored.
            var headers = response.headers
            headers.remove(.setCookie)
            for line in validation.cookies { headers.append(.setCookie, line) }
            response.head = response.head.replacing(headers: headers)
            response.head.isStored = false
        }
        return response
    }

    // MARK: Errors

    // RFC 5861 §4: what stands for a server that cannot answer.
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
        let outcome = Outcome(request: request, result: .failure(error))
        guard !outcome.isCancellation, context.cancelReason == nil, !Task.isCancelled,
            Self.isPassing(outcome), mayStandIn(entry, isReachable: !Self.isUnreachable(outcome)),
            let response = await stand(in: entry, status: outcome.status?.code)
        else { throw error }
        return response
    }

    // Nil if the request is for parts that the entry does not give, or if it cannot be read, of which
    // loggers were told. What came from the origin is the answer then.
    private func stand(in entry: CacheEntry, status: Int?) async -> Response? {
        let left = entry.response.freshness.timeLeft(at: date)
        let text = CacheStatus.staleOnError(status, secondsLeft: left)
        guard let response = try? await begun(entry, text) else { return nil }
        state.counts.add(.staleHit)
        context.note(gate: "Cache", "a stale response stands in for an error")
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

    // Within some seconds, unless the entry names others. One fault is no better than the other.
    private func mayStandIn(_ entry: CacheEntry, _ standard: Double) -> Bool {
        let freshness = entry.response.freshness
        let allowed = freshness.staleIfError ?? standard
        return !freshness.mustRevalidate && !freshness.noCache && allowed > 0
            && -freshness.timeLeft(at: date) <= allowed
            && !Self.isServerFault(entry.response.head.status)
    }

    /// Whether something is stored that may stand in for a fault of the server, for some request at
    /// least; the fault must not take its place then.
    func hasStandIn(_ inner: Context) async -> Bool {
        let entry = await find(LookUp(keys, request.headers), inner)
        guard let entry else { return false }
        let freshness = entry.response.freshness
        return mayStandIn(entry, options.staleIfError.inSeconds)
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
