// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeCache
import TurnpikeTesting
import TurnpikeValkey

@testable import TurnpikeValkeyCache

/// Replicas with a store each, on one server.
struct Replicas {
    let peer: ValkeyPeer
    let stores: [ValkeyStore]

    init(
        _ count: Int = 2, on peer: ValkeyPeer, options: ValkeyStore.Options = .patient,
        configuration: ValkeyServer.Configuration = .init(),
        timeSource: any TimeSource = SystemTimeSource()
    ) throws {
        self.peer = peer
        stores = try (0..<count).map { _ in
            ValkeyStore(
                try ValkeyServer(url: peer.url, configuration: configuration), options: options,
                timeSource: timeSource)
        }
    }

    init(_ count: Int = 2, options: ValkeyStore.Options = .patient) throws {
        try self.init(count, on: ValkeyPeer(), options: options)
    }
}

extension ValkeyStore.Options {
    /// The default options, with a time limit for busy machines.
    static var patient: Self {
        var options = Self()
        options.timeLimit = .seconds(10)
        return options
    }
}

extension CacheStore {
    func put(
        _ response: StoredResponse = .sample(), _ content: Data = Data("content".utf8)
    ) async throws {
        let writer = try #require(try await writer(for: response, length: nil))
        try await writer.write(content)
        try await writer.commit()
    }

    func find(_ key: CacheKey = .sample) async throws -> CacheEntry? {
        try await entry(for: key) { _ in true }
    }

    func text(_ key: CacheKey = .sample) async throws -> String? {
        (try await find(key)?.content as? CachedData).map {
            String(decoding: $0.data, as: UTF8.self)
        }
    }
}

extension CacheKey {
    static let sample = CacheKey(url: "http://a.example/")
}

extension StoredResponse {
    static func sample(
        _ key: CacheKey = .sample, variant: String? = nil, control: String = "max-age=60",
        mark: String = "", after seconds: Double = 0
    ) -> StoredResponse {
        StoredResponse(
            key: key,
            variant: Variant(fields: variant.map { [.init(name: "accept", value: $0)] } ?? []),
            head: ResponseHead(
                status: .ok, headers: ["Cache-Control": control, "X-Mark": mark],
                url: URL(string: key.url) ?? URL(filePath: "/")),
            requestTime: Date(timeIntervalSinceReferenceDate: 800_000_000 + seconds),
            responseTime: Date(timeIntervalSinceReferenceDate: 800_000_000 + seconds))
    }
}
