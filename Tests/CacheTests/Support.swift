// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeSerializers

/// A client with a cache, over a mock transport and a clock that stands still.
struct CachedClient {
    struct Answer {
        let code: Int
        let headers: HTTPHeaders
        let text: String

        var status: String? { headers["Cache-Status"] }
    }

    let clock: ManualClock
    let cache: Cache
    let transport: MockTransport
    let client: Client

    init(
        _ store: any CacheStore = MemoryStore(), options: Cache.Options = Cache.Options(),
        outside: [any Gate] = [], inside: [any Gate] = [], clock: ManualClock = ManualClock(),
        _ answer: @escaping @Sendable (Request) async throws -> MockResponse
    ) {
        self.clock = clock
        cache = Cache(store, partition: "test", options: options)
        transport = MockTransport(answer)
        client = Client(
            transport: transport, stack: Stack(outside + [cache] + inside),
            serializers: SerializerTable(), timeSource: clock,
            randomSource: SeededRandomSource(seed: 1))
    }

    var sent: Int { transport.sentCount }

    /// The key of what its callers share.
    static func key(_ url: String) -> CacheKey {
        guard case .named(let partition) = CachePartition("test") else { return CacheKey(url: url) }
        return CacheKey(url: url, partition: partition)
    }

    func send(
        _ method: HTTPMethod, _ path: String, _ headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        let target = Target(path.hasPrefix("/") ? "http://a.example\(path)" : path)
        let response = try await client.request(method, target, headers: headers).response()
        let data = try await response.body.collect(upTo: 16 << 20)
        return Answer(
            code: response.status.code, headers: response.headers,
            text: String(decoding: data, as: UTF8.self))
    }

    func get(_ path: String, _ headers: HTTPHeaders = [:]) async throws -> Answer {
        try await send(.get, path, headers)
    }
}

extension CachedClient {
    /// Two callers of one stale entry, the second of whom waits for the first one's validation;
    /// `answer` answers the validations.
    static func twoCallers(
        _ first: HTTPHeaders, _ second: HTTPHeaders, of stored: MockResponse,
        options: Cache.Options = Cache.Options(), inside: [any Gate] = [],
        _ answer: @escaping @Sendable (Request) -> MockResponse
    ) async throws -> ([Task<Answer, any Error>], CachedClient) {
        let mayGo = SharedValue<Void>()
        let cached = CachedClient(options: options, inside: inside) { request in
            guard request.headers.contains(.ifNoneMatch) else { return stored }
            try await mayGo.value()
            return answer(request)
        }
        _ = try await cached.get("/a")
        cached.clock.advance(by: .seconds(61))
        let calls = [first, second].enumerated().map { number, headers in
            Task {
                try await until("\(number) waiting callers") { cached.cache.waiting >= number }
                return try await cached.get("/a", headers)
            }
        }
        try await until("2 waiting callers") { cached.cache.waiting >= 2 }
        mayGo.settle(.success(()))
        return (calls, cached)
    }
}

/// A transport that gives a body of a certain, perhaps false, length.
struct LengthTransport: Transport {
    let capabilities = TransportCapabilities(rawValue: .max)
    let chunks: [Data]
    let length: Int64

    func send(_ request: Request, context: Context) async throws -> Response {
        let chunks = AsyncStream<Data> { continuation in
            for chunk in self.chunks { continuation.yield(chunk) }
            continuation.finish()
        }
        return Response(
            to: request, status: .ok, headers: ["Cache-Control": "max-age=60"],
            body: ResponseBody(chunks, length: length))
    }

    func shutdown() async {}
}

/// A store in memory that differs in a few points from the one of the library.
protocol StoreInMemory: CacheStore {
    var store: MemoryStore { get }
}

extension StoreInMemory {
    func entry(
        for key: CacheKey, where isMatch: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> CacheEntry? { try await store.entry(for: key, where: isMatch) }

    func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)? {
        try await store.writer(for: response, length: length)
    }

    func update(_ entry: CacheEntry, to response: StoredResponse) async throws {
        try await store.update(entry, to: response)
    }

    func remove(_ key: CacheKey) async throws { try await store.remove(key) }

    func removeAll(
        where condition: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> Int { try await store.removeAll(where: condition) }

    func list() async throws -> [CacheListing] { try await store.list() }
    var usage: CacheUsage { store.usage }
    func flush() async {}
}

/// A store in memory whose writers take nothing, once it is told so.
final class FailingStore: StoreInMemory {
    private struct Writer: CacheWriter {
        func write(_ chunk: Data) async throws { throw ClientError(.connection, "no room") }
        func commit() async throws { throw ClientError(.connection, "no room") }
        func abandon() {}
    }

    let store = MemoryStore()
    private let fails = Atomic(false)

    func fail() { fails.store(true, ordering: .relaxed) }

    func writer(
        for response: StoredResponse, length: Int64?
    ) async throws -> (any CacheWriter)? {
        if fails.load(ordering: .relaxed) { return Writer() }
        return try await store.writer(for: response, length: length)
    }
}

extension Date {
    /// The date as HTTP writes it.
    var http: String { HTTPDate.format(self) }
}

extension TemporaryFolder {
    /// All files and folders in it.
    var items: [String] {
        (try? FileManager.default.subpathsOfDirectory(atPath: path).map { "\(path)/\($0)" }) ?? []
    }

    /// The files of entries.
    var entries: [String] { items.filter { $0.contains("/v2/packs/") } }
}

/// Counts the notes of the cache.
struct NoteCounter: RequestLogger {
    private let counter = Tally()

    var count: Int { counter.count }

    func log(_ event: CallEvent) {
        if case .note(gate: "Cache", _) = event.kind { counter.add() }
    }
}

/// Keeps the notes of the cache.
final class NoteTexts: RequestLogger {
    private let notes = Mutex<[String]>([])

    var texts: [String] { notes.withLock { $0 } }

    func log(_ event: CallEvent) {
        if case .note(gate: "Cache", message: let text) = event.kind {
            notes.withLock { $0.append(text) }
        }
    }
}
