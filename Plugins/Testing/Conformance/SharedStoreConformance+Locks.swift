// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSharedState

extension SharedStoreConformance {
    static var locks: [Check] {
        [
            check("A lock is exclusive until it is unlocked") { site in
                let lock = try await taken(site.first, site.key, .seconds(100))
                let answer = try await site.second.lock(site.key, for: .seconds(100))
                guard case .held(let left) = answer else {
                    throw ConformanceFailure("the store gives a lock twice")
                }
                try requireTime(left, .seconds(100), "the time left of the lock")
                try await site.second.unlock(lock)
                _ = try await taken(site.second, site.key, .seconds(100))
            },
            check("A lock expires") { site in
                _ = try await taken(site.first, site.key, .milliseconds(200))
                try await wait(for: "The end of the lock") {
                    let answer = try await site.second.lock(site.key, for: .seconds(100))
                    if case .taken = answer { return true }
                    return false
                }
            },
            check("Each lock of a key has a higher number than earlier locks") { site in
                var last: UInt64 = 0
                for index in 0..<6 {
                    let store = index % 2 == 0 ? site.first : site.second
                    let lock = try await taken(store, site.key, .milliseconds(100))
                    try require(lock.fence > last, "\(lock.fence) comes after \(last)")
                    try require(lock.key == site.key, "the lock has another key")
                    last = lock.fence
                    if index < 4 {
                        try await site.second.unlock(lock)
                    } else {
                        try await pause(.milliseconds(150))
                    }
                }
            },
            check("Unlocking an expired lock does not unlock a newer one") { site in
                let old = try await taken(site.first, site.key, .milliseconds(100))
                try await pause(.milliseconds(150))
                let new = try await taken(site.second, site.key, .seconds(100))
                try await site.first.unlock(old)
                let answer = try await site.first.lock(site.key, for: .seconds(100))
                guard case .held = answer else {
                    throw ConformanceFailure("an old lock unlocks a new one")
                }
                try await site.second.unlock(new)
                try await site.second.unlock(new)
                _ = try await taken(site.first, site.key, .seconds(100))
            },
            check("Of fifty callers that take a lock at once, one gets it") { site in
                let count = try await withThrowingTaskGroup { group in
                    for index in 0..<50 {
                        let store = index % 2 == 0 ? site.first : site.second
                        group.addTask {
                            let answer = try await store.lock(site.key, for: .seconds(100))
                            if case .taken = answer { return 1 }
                            return 0
                        }
                    }
                    return try await group.reduce(0, +)
                }
                try require(count == 1, "\(count) of them have the lock")
            },
        ]
    }

    static var tokens: [Check] {
        [
            check("A content comes back byte for byte") { site in
                try require(
                    try await site.first.token(site.key) == nil, "a token is found before storage"
                )
                let all = Data((0...255).map { UInt8($0) })
                let large = Data(repeating: 0x80, count: 65_536)
                for (index, content) in [all, large, Data(), Data("\r\n".utf8)].enumerated() {
                    let token = StoredToken(content, fence: UInt64(index))
                    try require(
                        try await site.first.store(token, site.key, for: .seconds(100)),
                        "it refuses \(token)")
                    let found = try await site.second.token(site.key)
                    try require(found == token, "\(token) comes back as another one")
                }
            },
            check("Content from an earlier lock is refused") { site in
                let big: UInt64 = 1 << 50
                for (fence, isStored) in [
                    (9, true), (8, false), (9, true), (10, true), (9, false), (big, true),
                    (big - 1, false), (10, false), (big + 1, true), (big, false),
                ] as [(UInt64, Bool)] {
                    let token = StoredToken(Data("\(fence)".utf8), fence: fence)
                    let wasStored = try await site.first.store(token, site.key, for: nil)
                    try require(
                        wasStored == isStored,
                        "number \(fence) was \(wasStored ? "stored" : "refused")")
                }
                let found = try await site.second.token(site.key)
                try require(found?.fence == big + 1, "it has number \(found?.fence ?? 0)")
            },
            check("A content is removed after its lifetime") { site in
                let token = StoredToken(Data("x".utf8), fence: 1)
                _ = try await site.first.store(token, site.key, for: .milliseconds(200))
                try await wait(for: "The end of the lifetime") {
                    try await site.second.token(site.key) == nil
                }
            },
            check("Replaced content has the new lifetime") { site in
                let token = StoredToken(Data("x".utf8), fence: 1)
                for lifetime in [Duration.seconds(100), nil] {
                    let key = site.key + (lifetime == nil ? "1" : "2")
                    _ = try await site.first.store(token, key, for: .milliseconds(100))
                    try require(
                        try await site.first.store(token, key, for: lifetime), "it is refused")
                    try await pause(.milliseconds(200))
                    try require(
                        try await site.second.token(key) == token, "the old lifetime removed it")
                }
            },
        ]
    }

    static func taken(
        _ store: any SharedStore, _ key: String, _ duration: Duration
    ) async throws -> SharedLock {
        guard case .taken(let lock) = try await store.lock(key, for: duration) else {
            throw ConformanceFailure("a free lock is not given")
        }
        return lock
    }
}
