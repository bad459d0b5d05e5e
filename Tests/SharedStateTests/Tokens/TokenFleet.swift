// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import TurnpikeAuthentication
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

/// An authorization server whose refresh tokens are good for once, and whose access tokens end.
///
/// A refresh token that comes twice signs everybody out.
final class RotatingAuthority: Sendable {
    private struct State {
        var number = 0
        var ends = Date.distantPast
        var isSignedOut = false
        var refreshes: [String] = []
    }

    private let clock: any TimeSource
    private let life: Duration
    private let delay: Duration
    private let state = Mutex(State())

    init(_ clock: any TimeSource, life: Duration, answeringAfter delay: Duration) {
        self.clock = clock
        self.life = life
        self.delay = delay
    }

    var refreshes: [String] { state.withLock { $0.refreshes } }
    var isSignedOut: Bool { state.withLock { $0.isSignedOut } }

    /// Ends the present access token before its time.
    func revoke() { state.withLock { $0.ends = .distantPast } }

    /// A transport of one replica.
    ///
    /// After a refresh with this number the replica is dead: the answer does not reach it, and it
    /// sends nothing more.
    func transport(dyingIn refresh: Int? = nil) -> MockTransport {
        let isDead = Mutex(false)
        return MockTransport(recordLimit: 0) { [self] request in
            let silence = MockResponse.ok().delayed(by: .seconds(1_000_000))
            if isDead.withLock({ $0 }) { return silence }
            if request.url.path() == "/token" {
                let answer = answer(
                    String(decoding: request.body.inMemory ?? Data(), as: UTF8.self))
                if refreshes.count == refresh {
                    isDead.withLock { $0 = true }
                    return silence
                }
                return answer.delayed(by: delay)
            }
            return isGood(request.headers[.authorization] ?? "") ? .ok(text: "in") : .status(401)
        }
    }

    private func isGood(_ field: String) -> Bool {
        state.withLock { state in
            !state.isSignedOut && clock.date < state.ends
                && field == "Bearer secret-a\(state.number)"
        }
    }

    private func answer(_ form: String) -> MockResponse {
        state.withLock { state in
            let sent = form.split(separator: "&").first { $0.hasPrefix("refresh_token=") } ?? "none"
            state.refreshes.append(String(sent.dropFirst(14)))
            guard sent == "refresh_token=secret-r\(state.number)", !state.isSignedOut else {
                state.isSignedOut = true
                return .status(400, json: ["error": "invalid_grant"])
            }
            state.number += 1
            state.ends = clock.date.addingTimeInterval(life.inSeconds)
            return .ok(
                json: [
                    "access_token": .string("secret-a\(state.number)"),
                    "refresh_token": .string("secret-r\(state.number)"),
                    "expires_in": .number(JSONNumber(Int(life.inSeconds))),
                ])
        }
    }
}

/// A sink that keeps what gates note.
final class NoteKeeper: RequestLogger {
    private let kept = Mutex<[String]>([])
    var all: [String] { kept.withLock { $0 } }

    func log(_ event: CallEvent) {
        guard case .note(_, let message) = event.kind else { return }
        kept.withLock { $0.append(message) }
    }
}

/// Replicas with one token, each with a client of its own.
struct TokenFleet: Sendable {
    let simulation: Simulation
    let authority: RotatingAuthority
    let store: FaultySharedStore
    let memory: MemorySharedStore

    init(
        _ simulation: Simulation, life: Duration = .seconds(60), latency: MockLatency = .none,
        losses: Double = 0, outages: [FaultySharedStore.Outage] = []
    ) {
        self.simulation = simulation
        authority = RotatingAuthority(
            simulation.clock, life: life, answeringAfter: .milliseconds(300))
        memory = MemorySharedStore(timeSource: simulation.clock)
        store = FaultySharedStore(
            memory, seed: simulation.seed, timeSource: simulation.clock, latency: latency,
            losses: losses, outages: outages)
    }

    struct Replica: Sendable {
        let client: Client
        let tokens: BearerTokens

        func call() async throws -> String {
            try await client.get(anywhere).serialize(with: Text())
        }
    }

    /// A replica that starts with the first refresh token, which is spent after the first refresh.
    func replica(
        dyingIn refresh: Int? = nil, onOutage: SharedTokens.Outage? = nil,
        policy: RefreshPolicy = .standard, spends: Bool = true, outer: [any Gate] = [],
        over other: (any SharedStore)? = nil, meter: (any GateMeter)? = nil
    ) throws -> Replica {
        let state = SharedState(other ?? store, replicas: 12, meter: meter)
        let endpoint = TokenEndpoint("http://a.example/token")
        let shared = try SharedTokens(
            state, key: "account", storesSecrets: true, onOutage: onOutage)
        let tokens = BearerTokens(
            BearerToken("secret-a0", refreshToken: "secret-r0"),
            provider: RefreshTokenGrant(endpoint), policy: policy, shared: shared)
        let client = Client(
            transport: authority.transport(dyingIn: refresh),
            stack: Stack(outer + [.bearer(tokens)]), serializers: SerializerTable(),
            timeSource: simulation.clock, randomSource: simulation.random)
        return Replica(client: client, tokens: tokens)
    }
}
