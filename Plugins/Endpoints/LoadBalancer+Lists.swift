// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension LoadBalancer {
    static let refreshLimit = Duration.seconds(10)

    private enum FirstStep {
        case use
        case wait(ListRefresh)
        case fail(ClientError)
        case begin
    }

    // Waits for the first list. Throws the list's error, or at once a cancellation.
    func firstList(in context: Context) async throws {
        while true {
            let now = context.timeSource.now
            let step = state.withLock { state -> FirstStep in
                if !state.order.isEmpty { return .use }
                if let refresh = state.source.refresh { return .wait(refresh) }
                if state.source.isDue(at: now) { return .begin }
                let wait = state.source.dueAt.map { now.duration(to: $0) }
                return .fail(noList(state.source.failure, retryAfter: wait))
            }
            switch step {
            case .use: return
            case .fail(let error): throw error
            case .begin: doWhatIsDue(in: context)
            case .wait(let refresh):
                do {
                    try await context.report(
                        waitingFor: "list of endpoints",
                        atDeadline: "for the endpoints of \(service)"
                    ) { _ in
                        try await refresh.wait(in: context)
                    }
                } catch is ListRefresh.Ended {
                    // The shutdown of another client with this gate ended the refresh.
                    try context.checkCancellation()
                }
            }
        }
    }

    func run(_ refresh: ListRefresh) {
        // This task belongs to no call. The task ends when the resolver returns. Before the
        // arrival, the task holds only the resolver and its context, which are cancelled by the
        // arrival of the list, by the limit below, by the shutdown of a client, by new rules, or by
        // the release of the balancer. A resolver that ignores the cancellation is left running.
        let task = Task.apart { [weak self] in
            let result: Result<EndpointList, any Error>
            do {
                result = .success(
                    try await refresh.resolver.endpoints(in: refresh.context))
            } catch {
                result = .failure(error)
            }
            guard let self else { return }
            finish(refresh, result)
            state.withLock { state in
                state.source.didReturn()
                note(&state)
            }
        }
        let limit = Self.refreshLimit
        let timer = refresh.context.timeSource.schedule(after: limit) { [weak self] in
            let late = ClientError(.dns, "the resolver took longer than \(limit.text)")
            self?.finish(refresh, .failure(late))
        }
        refresh.whenSettled {
            timer.cancel()
            refresh.context.cancel(.handle)
            task.cancel()
        }
    }

    private func finish(_ refresh: ListRefresh, _ result: Result<EndpointList, any Error>) {
        let now = refresh.context.timeSource.now
        let checked = result.flatMap { list in
            Result { try self.checked(list, of: refresh.resolver) }
        }
        switch checked {
        case .success(let list):
            guard install(list, of: refresh, at: now) else { return }
            tell()
            refresh.settle(.success(()))
        case .failure(let error):
            let failure = state.withLock { state -> ClientError? in
                defer { note(&state) }
                guard state.source.refresh === refresh else { return nil }
                state.source.fail(error, at: now)
                if !state.order.isEmpty {
                    state.news = [
                        "there is no new list of the endpoints of \(service); the last list, of"
                            + " \(state.order.count), stays in use: \(Self.text(of: error))"
                    ]
                }
                return noList(error, retryAfter: nil)
            }
            guard let failure else { return }
            figures.add(1, to: "turnpike.endpoints.refresh_failures", labels: service.meterLabels)
            refresh.settle(.failure(failure))
        }
    }

    /// Returns a list without repetitions, or throws if the list has a mistake.
    private func checked(
        _ list: EndpointList, of resolver: any EndpointResolver
    ) throws -> EndpointList {
        // An unchanged list is not checked again. If both lists have the same storage, as for an
        // unchanged file, the comparison takes no time.
        let listed = state.withLock { $0.listed }
        if !listed.isEmpty, list.endpoints == listed {
            return EndpointList(listed, freshFor: list.freshFor)
        }
        let endpoints = try EndpointCheck.checked(list.endpoints)
            .result(of: "the list of the resolver \(type(of: resolver))")
        // If no entry was dropped, the result has the storage of the resolver's list.
        return endpoints.count == list.endpoints.count
            ? list : EndpointList(endpoints, freshFor: list.freshFor)
    }

    /// Replaces the current list, or returns false if the refresh has already ended.
    ///
    /// The slow work for thousands of endpoints runs in the task of the refresh, while calls use
    /// the old list. Only the replacement of the list needs a lock.
    private func install(
        _ list: EndpointList, of refresh: ListRefresh, at now: MonotonicInstant
    ) -> Bool {
        let known = state.withLock { state in
            state.source.refresh === refresh ? (state.members, state.rules, state.listed) : nil
        }
        guard let (former, rules, listed) = known else { return false }
        // For an unchanged list, `checked` has returned the same storage.
        let isSame = list.endpoints == listed
        let (order, members) =
            isSame ? ([], [:]) : Self.members(of: list, by: rules, after: former, at: now)
        let isInForce = state.withLock { state in
            defer { note(&state) }
            guard state.source.refresh === refresh else { return false }
            state.source.succeed(holding: list.freshFor, at: now)
            if isSame { return true }
            state.listed = list.endpoints
            state.members = members
            state.order = order
            countEjected(&state, at: now)
            renew(&state)
            if state.sweepAt.nanoseconds == .max {
                state.sweptAt = now
                state.sweepAt = now.advanced(by: state.rules.health.interval)
            }
            return true
        }
        guard isInForce else { return false }
        if !isSame {
            for (target, member) in former where members[target] == nil { member.health.leave() }
        }
        return true
    }

    private static func members(
        of list: EndpointList, by rules: EndpointRules,
        after former: [ConnectTarget: EndpointMember], at now: MonotonicInstant
    ) -> (order: [EndpointMember], members: [ConnectTarget: EndpointMember]) {
        let endpoints =
            rules.subset?.endpoints(of: list.endpoints, in: rules.zone) ?? list.endpoints
        var members: [ConnectTarget: EndpointMember] = [:]
        members.reserveCapacity(endpoints.count)
        var order: [EndpointMember] = []
        order.reserveCapacity(endpoints.count)
        for endpoint in endpoints where members[endpoint.target] == nil {
            let member = Self.member(endpoint, after: former, at: now)
            members[endpoint.target] = member
            order.append(member)
        }
        return (order, members)
    }

    private static func member(
        _ endpoint: Endpoint, after former: [ConnectTarget: EndpointMember],
        at now: MonotonicInstant
    ) -> EndpointMember {
        guard let present = former[endpoint.target] else {
            // If all endpoints are new, no endpoint needs a slow start.
            return EndpointMember(endpoint, startingAt: former.isEmpty ? nil : now)
        }
        return present.endpoint == endpoint
            ? present : EndpointMember(endpoint, continuing: present)
    }

    // MARK: Errors

    func noList(_ error: (any Error)?, retryAfter: Duration?) -> ClientError {
        let reason = error.map { ": " + Self.text(of: $0) } ?? ""
        let known = error as? ClientError
        let code = known?.code ?? .dns
        // The message already contains the message of the resolver's error.
        let underlying = known.map(\.underlying) ?? error
        return ClientError(
            code == .cancelled || code == .deadlineExceeded ? .dns : code,
            "no endpoint of \(service) is known" + reason, underlying: underlying,
            transfer: TransferState(.connecting), retryAfter: retryAfter)
    }

    private static func text(of error: any Error) -> String {
        (error as? ClientError)?.message ?? String(describing: error)
    }
}
