// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCache
import TurnpikeCore

/// Stores, updates and removes entries until it is killed.
///
/// What an entry must hold follows from its URL and its version alone, so that who reads it knows.
struct CrashWriter {
    static let maxBytes: Int64 = 12 << 20
    /// What two writers may have begun beyond the bound.
    static let slack: Int64 = 2 << 20

    let directory: String
    let seed: UInt64

    func run() async {
        let store = Self.store(directory)
        var random = SeededGenerator(seed: seed)
        var steps = 0
        while true {
            let number = Int.random(in: 0..<400, using: &random)
            let version = Int.random(in: 0..<1000, using: &random)
            do {
                try await step(store, number, version, Int.random(in: 0..<10, using: &random))
                steps += 1
                // Most have stored something; who waits for that hears of it.
                if steps == 20 { FileHandle.standardOutput.write(Data("\n".utf8)) }
            } catch {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                exit(1)
            }
        }
    }

    static func store(_ directory: String) -> DiskStore {
        DiskStore(directory: directory, maxBytes: maxBytes, maxEntryBytes: 2 << 20)
    }

    private func step(_ store: DiskStore, _ number: Int, _ version: Int, _ kind: Int) async throws {
        let response = Self.response(number, version)
        switch kind {
        case 0: try await store.remove(response.key)
        case 1, 2:
            guard let entry = try await store.entry(for: response.key, where: { _ in true }) else {
                return
            }
            try await store.update(entry, to: Self.response(number, Self.version(entry.response)))
        default:
            let content = Self.content(number, version)
            guard let writer = try await store.writer(for: response, length: nil) else { return }
            var rest = content[...]
            while !rest.isEmpty {
                try await writer.write(Data(rest.prefix(50_000)))
                rest = rest.dropFirst(50_000)
            }
            try await writer.commit()
        }
    }

    // MARK: What an entry must hold

    static func response(_ number: Int, _ version: Int) -> StoredResponse {
        let now = SystemTimeSource().date
        let address = "http://a.example/\(number)"
        return StoredResponse(
            key: CacheKey(url: address), variant: Variant(fields: []),
            head: ResponseHead(
                status: .ok,
                headers: [
                    "Cache-Control": "max-age=600", "X-Version": String(version),
                    "X-Padding": String(repeating: "p", count: now.hashValue & 0xFF),
                ], url: URL(string: address) ?? URL(filePath: "/")),
            requestTime: now, responseTime: now)
    }

    static func version(_ response: StoredResponse) -> Int {
        response.head.headers["X-Version"].flatMap { Int($0) } ?? -1
    }

    static func content(_ number: Int, _ version: Int) -> Data {
        var random = SeededGenerator(seed: UInt64(number) << 32 | UInt64(version))
        // Most are small, some go by a file of their own.
        let size = number % 10 == 0 ? 300_000 + number * 1000 : 1 + number * 97
        var data = Data(capacity: size + 8)
        while data.count < size {
            let word = random.next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                data.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return data.prefix(size)
    }
}
