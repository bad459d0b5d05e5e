// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeSharedState
import TurnpikeTesting
import TurnpikeTraffic

@Suite("Stores of shared state conform")
struct SharedStoreConformanceTests {
    @Test("The store in memory meets every requirement")
    func memory() async {
        #expect(await Self.failures([MemorySharedStore()]) == [])
    }

    @Test("A store that has a flaw is found")
    func flaws() async {
        // At once, because checks of flaws in times wait for seconds.
        await withTaskGroup { group in
            for flaw in FlawedStore.Flaw.allCases {
                group.addTask {
                    // It keeps a processor busy, and would find few of the flaws.
                    let checks = SharedStoreConformance.checks.filter {
                        !$0.name.hasPrefix("In any time")
                    }
                    let failures = await Self.failures([FlawedStore(flaw)], checks)
                    #expect(failures.count >= 1, "\(flaw)")
                    #expect(failures.allSatisfy { !$0.contains("hangs") }, "\(failures)")
                }
            }
        }
    }

    @Test("What a client keeps for itself is found")
    func twoClients() async {
        #expect(await Self.failures([MemorySharedStore(), MemorySharedStore()]).count > 10)
    }

    @Test("A list without a store fails")
    func none() async {
        #expect(await Self.failures([]).count == SharedStoreConformance.checks.count)
    }

    private static func failures(
        _ stores: [any SharedStore],
        _ checks: [SharedStoreConformance.Check] = SharedStoreConformance.checks
    ) async -> [String] {
        await withTaskGroup { group in
            for check in checks {
                group.addTask {
                    do {
                        try await check.run(on: stores, limit: .seconds(30))
                        return String?.none
                    } catch {
                        return "\(error)"
                    }
                }
            }
            return await group.reduce(into: []) { if let failure = $1 { $0.append(failure) } }
        }
    }
}

/// A store in memory that does one thing wrong.
final class FlawedStore: SharedStore {
    enum Flaw: CaseIterable {
        case givesOneMore, ignoresMaximum, ignoresReach, takesFromTheFirstRule, cutsReservations
        case roundsIntervals, givesBackTooMuch, ignoresCharges, chargesWithoutEnd, lowersToExactly
        case roundsFractions, shortensCooldowns, takesBeforeCooldown, startsEmptyCooldowns
        case ignoresFences, locksTwice, unlocksOthers, repeatsFences, locksForEver
        case keepsTokens, keepsOldLifetime, countsForEver, countsBeats, endsKeysAtBraces
        case trimsKeys, readsText, failsOnLongKeys
    }

    private struct State {
        var replicas: [String: Set<String>] = [:]
        var beats = 0
        var lifetimes: [String: Duration] = [:]
    }

    private let flaw: Flaw
    private let store = MemorySharedStore()
    private let state = Mutex(State())

    init(_ flaw: Flaw) { self.flaw = flaw }

    private func keyed(_ key: String) throws -> String {
        switch flaw {
        case .endsKeysAtBraces: return String(key.split(separator: "}").first ?? "")
        case .trimsKeys: return key.trimmingCharacters(in: .whitespacesAndNewlines)
        case .failsOnLongKeys where key.utf8.count > 900: throw ClientError(.connection, "too long")
        default: return key
        }
    }

    func take(_ request: QuotaRequest) async throws -> QuotaAnswer {
        var request = request
        request.key = try keyed(request.key)
        switch flaw {
        case .givesOneMore:
            request.rules = request.rules.map {
                QuotaRule($0.permits, per: $0.period, burst: $0.burst + 1)
            }
        case .ignoresMaximum: request.maximum += 1
        case .ignoresReach: request.reach = .zero
        case .takesFromTheFirstRule:
            let answer = await store.take(request)
            if case .exhausted = answer, request.rules.count > 1 {
                await store.giveBack(-1, to: request.key, rules: [request.rules[0]])
            }
            return answer
        case .cutsReservations:
            let rule = request.rules[0]
            let left = store.permitsLeft(of: request.key, rules: request.rules) ?? 0
            let least = -rule.burst - 1 - Double(request.maximum) - request.reach / .seconds(3600)
            if left < least {
                await store.giveBack(Int(least - left), to: request.key, rules: request.rules)
            }
        case .roundsIntervals:
            request.rules = request.rules.map { rule in
                let micros = max((rule.nanosecondsPerPermit / 1000).rounded(), 1)
                return QuotaRule(1e6 / micros, per: .seconds(1), burst: rule.burst)
            }
        case .takesBeforeCooldown:
            if let left = await store.cooldown(of: request.key) {
                await store.giveBack(-1, to: request.key, rules: request.rules)
                return .coolingDown(left)
            }
        default: break
        }
        return await store.take(request)
    }

    func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws {
        let key = try keyed(key)
        switch flaw {
        case .givesBackTooMuch where permits > 0:
            await store.giveBack(permits + 1, to: key, rules: rules)
        case .ignoresCharges: await store.giveBack(max(permits, 0), to: key, rules: rules)
        case .chargesWithoutEnd where permits < -1000:
            _ = await store.take(
                QuotaRequest(key: key, rules: rules, minimum: -permits, reach: .seconds(1e9)))
        default: await store.giveBack(permits, to: key, rules: rules)
        }
    }

    func lower(to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]) async throws {
        let key = try keyed(key)
        switch flaw {
        case .lowersToExactly:
            let left = store.permitsLeft(of: key, rule: rule, rules: rules) ?? 0
            if left < remaining {
                await store.giveBack(Int(min(remaining, 1e6) - left), to: key, rules: rules)
            }
        case .roundsFractions:
            await store.lower(to: remaining.rounded(.up), of: key, rule: rule, rules: rules)
            return
        default: break
        }
        await store.lower(to: remaining, of: key, rule: rule, rules: rules)
    }

    func coolDown(for duration: Duration, _ key: String) async throws {
        let key = try keyed(key)
        if flaw == .shortensCooldowns, duration < .milliseconds(2), duration > .zero {
            // The wrapped store cannot shorten one, so the key is replaced by one without it.
            state.withLock { $0.lifetimes[key] = .zero }
        }
        if flaw == .startsEmptyCooldowns, duration == .zero {
            return await store.coolDown(for: .seconds(100), key)
        }
        await store.coolDown(for: duration, key)
    }

    func cooldown(of key: String) async throws -> Duration? {
        let key = try keyed(key)
        if state.withLock({ $0.lifetimes[key] != nil }) { return nil }
        return await store.cooldown(of: key)
    }

    func token(_ key: String) async throws -> StoredToken? {
        let token = await store.token(try keyed(key))
        guard flaw == .readsText, let token else { return token }
        let text = String(decoding: token.content, as: UTF8.self)
        return StoredToken(Data(text.utf8), fence: token.fence)
    }

    func store(_ token: StoredToken, _ key: String, for lifetime: Duration?) async throws -> Bool {
        let key = try keyed(key)
        switch flaw {
        case .ignoresFences:
            if let present = await store.token(key), present.fence > token.fence {
                return await store.store(
                    StoredToken(token.content, fence: present.fence), key, for: lifetime)
            }
        case .keepsTokens: return await store.store(token, key, for: nil)
        case .keepsOldLifetime:
            let old = state.withLock { state in
                defer { state.lifetimes["lifetime " + key] = lifetime }
                return state.lifetimes["lifetime " + key]
            }
            return await store.store(token, key, for: old ?? lifetime)
        default: break
        }
        return await store.store(token, key, for: lifetime)
    }

    func lock(_ key: String, for duration: Duration) async throws -> LockAnswer {
        let key = try keyed(key)
        let answer = await store.lock(key, for: flaw == .locksForEver ? .seconds(1e6) : duration)
        switch (flaw, answer) {
        case (.locksTwice, .held): return .taken(SharedLock(key: key, fence: .max))
        case (.repeatsFences, .taken): return .taken(SharedLock(key: key, fence: 7))
        default: return answer
        }
    }

    func unlock(_ lock: SharedLock) async throws {
        guard flaw == .unlocksOthers else { return await store.unlock(lock) }
        for fence in 0...lock.fence + 100 {
            await store.unlock(SharedLock(key: lock.key, fence: fence))
        }
    }

    func beat(_ replica: String, of group: String, for lifetime: Duration) async throws -> Int {
        if flaw == .countsForEver {
            return state.withLock { state in
                state.replicas[group, default: []].insert(replica)
                return state.replicas[group]?.count ?? 0
            }
        }
        guard flaw == .countsBeats else {
            return await store.beat(replica, of: group, for: lifetime)
        }
        let number = state.withLock { state in
            state.beats += 1
            return state.beats
        }
        return await store.beat("\(number)", of: group, for: lifetime)
    }
}
