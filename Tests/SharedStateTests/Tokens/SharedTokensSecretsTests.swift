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

@Suite("What replicas store of a token")
struct SharedTokensSecretsTests {
    private let clock = ManualClock()

    @Test("Nothing is shared unless it is said that secrets are stored")
    func storesSecrets() throws {
        let state = SharedState(MemorySharedStore(timeSource: clock))
        let error = #expect(throws: ClientError.self) {
            _ = try SharedTokens(state, key: "a", storesSecrets: false)
        }
        #expect(error?.code == .configuration)
        #expect(error.map { "\($0)".contains("storesSecrets: true") } == true)
        expectError(.configuration) {
            _ = try SharedTokens(state, key: "", storesSecrets: true)
        }
    }

    @Test("What is stored can be read again")
    func format() throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000.25)
        let token = BearerToken("a\"\\~", expires: date, refreshToken: "r/=")
        let stored = SharedToken(token, scope: ["x", "y"], fence: 7).stored
        let read = try #require(SharedToken(stored))
        #expect(read.token == token && read.scope == ["x", "y"] && read.fence == 7)
        let none = try #require(SharedToken(SharedToken(nil, scope: [], fence: 8).stored))
        #expect(none.token == nil && none.fence == 8)
    }

    @Test(
        "What cannot be read is ignored",
        arguments: [
            "", "{", "null", "[]", #"{"version":2,"access":"a"}"#, #"{"access":"a"}"#,
            #"{"version":1,"access":1}"#, #"{"version":1,"access":""}"#,
            #"{"version":1,"access":"a\r\nX: y"}"#, String(repeating: "[", count: 60_000),
        ])
    func unreadable(_ text: String) {
        #expect(SharedToken(StoredToken(Data(text.utf8), fence: 1)) == nil)
        for end in 0..<min(text.utf8.count, 40) {
            _ = SharedToken(StoredToken(Data(text.utf8.prefix(end)), fence: 1))
        }
    }

    @Test("Unreadable content is replaced, with a note; no note and no error has a secret")
    func secrets() async throws {
        let kept = Notes()
        try await Simulation(seed: 3).run { simulation in
            let fleet = TokenFleet(
                simulation, outages: [.init(after: .seconds(5), for: .seconds(60))])
            let broken = StoredToken(Data("secret-broken".utf8), fence: 0)
            _ = await fleet.memory.store(broken, "account", for: nil)
            let logger = NoteKeeper()
            let replica = try fleet.replica(onOutage: .refresh, outer: [logger])
            #expect(try await replica.call() == "in")
            let stored = try #require(await fleet.memory.token("account"))
            #expect(SharedToken(stored)?.token?.value == "secret-a1")
            kept.add("\(stored)")
            for _ in 0..<20 {
                do { _ = try await replica.call() } catch { kept.add("\(error)") }
                let moment = OneShot<Void>()
                _ = simulation.clock.schedule(after: .seconds(10)) { moment.settle(.success(())) }
                try await moment.value {}
            }
            for note in logger.all { kept.add(note) }
            var dumped = ""
            dump(replica.tokens, to: &dumped)
            kept.add(dumped)
        }
        #expect(kept.all.contains { $0.contains("unreadable token of 13 bytes") }, "\(kept.all)")
        #expect(kept.all.contains { $0.contains("refreshes the token by itself") })
        #expect(kept.all.allSatisfy { !$0.contains("secret") })
    }
}
