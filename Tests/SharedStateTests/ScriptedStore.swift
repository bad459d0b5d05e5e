// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

import TurnpikeTraffic
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSharedState

/// A store whose answers a test chooses, as one of others may give them.
final class ScriptedStore: SharedStore {
    struct Count {
        var takes = 0
        var returned = 0
        var beats = 0
    }

    private let answer: @Sendable (QuotaRequest) async throws -> QuotaAnswer
    private let replicas: @Sendable () async throws -> Int
    private let count = Mutex(Count())

    init(
        replicas: @escaping @Sendable () async throws -> Int = { 1 },
        _ answer: @escaping @Sendable (QuotaRequest) async throws -> QuotaAnswer
    ) {
        self.answer = answer
        self.replicas = replicas
    }

    var takes: Int { count.withLock { $0.takes } }
    var returned: Int { count.withLock { $0.returned } }
    var beats: Int { count.withLock { $0.beats } }

    func take(_ request: QuotaRequest) async throws -> QuotaAnswer {
        count.withLock { $0.takes += 1 }
        return try await answer(request)
    }

    func giveBack(_ permits: Int, to key: String, rules: [QuotaRule]) async throws {
        count.withLock { $0.returned &+= permits }
    }

    func lower(to remaining: Double, of key: String, rule: Int, rules: [QuotaRule]) async throws {}
    func coolDown(for duration: Duration, _ key: String) async throws {}
    func cooldown(of key: String) async throws -> Duration? { nil }
    func token(_ key: String) async throws -> StoredToken? { nil }

    func store(_ token: StoredToken, _ key: String, for lifetime: Duration?) async throws -> Bool {
        true
    }

    func lock(_ key: String, for duration: Duration) async throws -> LockAnswer {
        .held(atMost: duration)
    }

    func unlock(_ lock: SharedLock) async throws {}

    func beat(_ replica: String, of group: String, for lifetime: Duration) async throws -> Int {
        count.withLock { $0.beats += 1 }
        return try await replicas()
    }
}

/// Waits for ever, but for the end of its task.
func hang() async throws {
    let never = OneShot<Void>()
    try await never.value { never.settle(.failure(CancellationError())) }
}
