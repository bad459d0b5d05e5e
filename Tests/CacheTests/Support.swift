import Foundation
import Synchronization
import TurnpikeCache
import TurnpikeCore
import TurnpikeSerializers
import TurnpikeTesting

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
        cache = Cache(store, options: options)
        transport = MockTransport(answer)
        client = Client(
            transport: transport, stack: Stack(outside + [cache] + inside),
            serializers: SerializerTable(), timeSource: clock,
            randomSource: SeededRandomSource(seed: 1))
    }

    var sent: Int { transport.sentCount }

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

/// A number that counts up.
final class Counter: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .acquiring) }

    func next() -> Int { value.add(1, ordering: .acquiringAndReleasing).newValue }
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

extension Date {
    /// The date as HTTP writes it.
    var http: String { HTTPDate.format(self) }
}
