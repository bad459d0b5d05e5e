// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

@Suite("A sign-in beside tokens that replicas share")
struct SharedSignInTests {
    private static func pause(_ duration: Duration, _ simulation: Simulation) async throws {
        try await Context(timeSource: simulation.clock).sleep(for: duration)
    }

    private static let first = BearerToken("secret-a0", refreshToken: "secret-r0")

    @Test("A sign-in wins over a token of the store that is being taken at that moment")
    func signInWhileAdopting() async throws {
        for seed in UInt64(0)..<10 {
            try await Simulation(seed: seed).run { simulation in
                let hooked = Hooked(simulation)
                let other = BearerToken(
                    "secret-b", expires: simulation.clock.date.addingTimeInterval(3600),
                    refreshToken: "secret-rb")
                let present = SharedToken(other, scope: [], fence: 0)
                _ = await hooked.store.memory.store(present.stored, "account", for: nil)
                let replica = try hooked.replica(Self.first)
                let signIn = BearerToken("secret-c", refreshToken: "secret-rc")
                hooked.store.afterRead {
                    // It looks at the date to see whether the token has expired.
                    hooked.clock.atNextDate { replica.tokens.replace(with: signIn) }
                }
                _ = try? await replica.call()
                try await Self.pause(.seconds(1), simulation)
                #expect(await hooked.stored == signIn, "seed \(seed)")
            }
        }
    }

    @Test("A sign-in that could not be stored is not replaced by what the store has")
    func signInWithFullStore() async throws {
        try await Simulation(seed: 1).run { simulation in
            let hooked = Hooked(simulation)
            let old = SharedToken(
                BearerToken("secret-b", refreshToken: "secret-rb"), scope: [], fence: 0)
            _ = await hooked.store.memory.store(old.stored, "account", for: nil)
            hooked.store.isFull = true
            let replica = try hooked.replica(
                BearerToken("secret-x", refreshToken: "secret-rx"), onOutage: .refresh)
            replica.tokens.replace(with: BearerToken("secret-c", refreshToken: "secret-r0"))
            #expect(try await replica.call() == "in")
            #expect(hooked.authority.refreshes == ["secret-r0"])
            hooked.store.isFull = false
            try await Self.pause(.seconds(1), simulation)
            // The refresh token of the sign-in is spent: the others must get its successor.
            #expect(await hooked.stored?.refreshToken == "secret-r1")
        }
    }

    @Test("A sign-in whose token is refreshed at once leaves the new token to the others")
    func signInThatIsRefreshed() async throws {
        for seed in UInt64(0)..<30 {
            try await Simulation(seed: seed).run { simulation in
                let fleet = TokenFleet(
                    simulation, life: .seconds(3600),
                    latency: .uniform(.microseconds(100)...(.milliseconds(15))))
                let (replica, other) = (try fleet.replica(), try fleet.replica())
                // Restored from a file, for instance: the access token is of no use any more.
                replica.tokens.replace(
                    with: BearerToken("secret-old", refreshToken: "secret-r0"))
                #expect(try await replica.call() == "in", "seed \(seed)")
                try await Self.pause(.seconds(1), simulation)
                #expect(try await other.call() == "in", "seed \(seed)")
                #expect(fleet.authority.refreshes == ["secret-r0"], "seed \(seed)")
            }
        }
    }

    @Test("A sign-in whose lock comes after a refresh of it does not replace the new token")
    func signInWithLateLock() async throws {
        try await Simulation(seed: 1).run { simulation in
            let hooked = Hooked(simulation)
            let replica = try hooked.replica(Self.first)
            replica.tokens.replace(with: BearerToken("secret-c", refreshToken: "secret-r0"))
            // The lock of the background, which stores the sign-in.
            hooked.store.beforeLock { try await Self.pause(.milliseconds(600), simulation) }
            #expect(try await replica.call() == "in")
            #expect(simulation.elapsed < .milliseconds(600))
            try await Self.pause(.seconds(1), simulation)
            #expect(await hooked.stored?.value == "secret-a1")
            #expect(!hooked.store.memory.isLocked("account"))
        }
    }

    private static let session = BearerToken("secret-b", refreshToken: "secret-rb")

    @Test("A sign-in that was refreshed stays, although the store did not take the new token")
    func signInWithoutPlace() async throws {
        try await Simulation(seed: 1).run { simulation in
            let hooked = Hooked(simulation, life: .seconds(2))
            let old = SharedToken(Self.session, scope: [], fence: 0)
            _ = await hooked.store.memory.store(old.stored, "account", for: nil)
            let replica = try hooked.replica(Self.first, onOutage: .refresh)
            replica.tokens.replace(with: BearerToken("secret-c", refreshToken: "secret-r0"))
            // The lock of the background, which stores the sign-in.
            hooked.store.beforeLock { try await Self.pause(.milliseconds(600), simulation) }
            async let answer = replica.call()
            try await Self.pause(.milliseconds(150), simulation)
            #expect(hooked.authority.refreshes == ["secret-r0"] && !hooked.store.isFull)
            hooked.store.isFull = true
            #expect(try await answer == "in")
            // The token has expired, and the store still has the session before the sign-in.
            try await Self.pause(.seconds(3), simulation)
            #expect(try await replica.call() == "in")
            #expect(hooked.authority.refreshes == ["secret-r0", "secret-r1"])
            hooked.store.isFull = false
            // The lock of the first refresh could not be given back, and ends by itself.
            try await Self.pause(RefreshPolicy.standard.answerLimit * 1.25, simulation)
            #expect(await hooked.stored?.refreshToken == "secret-r2")
        }
    }

    @Test("A sign-in that was refreshed is stored, although its lock had ended")
    func signInWithLostLock() async throws {
        try await Simulation(seed: 1).run { simulation in
            let jump = JumpingClock(
                simulation.clock, (after: .milliseconds(100), by: .seconds(3600)))
            let hooked = Hooked(simulation, clockOfStore: jump)
            let replica = try hooked.replica(Self.first)
            replica.tokens.replace(with: BearerToken("secret-c", refreshToken: "secret-r0"))
            // The lock of the background, which stores the sign-in.
            hooked.store.beforeLock { try await Self.pause(.milliseconds(600), simulation) }
            async let answer = replica.call()
            // The lock of the refresh has ended early: another replica stores its own token.
            try await Self.pause(.milliseconds(150), simulation)
            let memory = hooked.store.memory
            guard case .taken(let lock) = await memory.lock("account", for: .seconds(5)) else {
                Issue.record("the lock has not ended")
                return
            }
            let other = SharedToken(Self.session, scope: [], fence: lock.fence)
            #expect(await memory.store(other.stored, "account", for: nil))
            await memory.unlock(lock)
            #expect(try await answer == "in")
            try await Self.pause(.seconds(1), simulation)
            #expect(await hooked.stored?.refreshToken == "secret-r1")
            #expect(!memory.isLocked("account"))
        }
    }
}
