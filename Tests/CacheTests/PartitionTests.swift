// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeAuthentication
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeSerializers

/// How a service proves who it is.
private enum Proof: CaseIterable {
    case bearer, basic, digest, apiKey, certificate, signature

    /// The gate that adds the proof; nil if the transport has it.
    func gate(of name: String) -> (any Gate)? {
        switch self {
        case .bearer: BearerAuthentication(BearerTokens(BearerToken(name)))
        case .basic: BasicAuthentication(user: name, password: "p")
        case .digest: DigestAuthentication(user: name, password: "p")
        case .apiKey: SetHeaders(["X-Api-Key": "\(name)"], origins: ["http://a.example"])
        case .certificate: nil
        case .signature: Signature(name: name)
        }
    }

    /// Whom the server takes the sender for; nil if it asks for a proof.
    func name(in request: Request, certificate: String) -> String? {
        let proof = request.headers[self == .apiKey ? "X-Api-Key" : .authorization]
        switch self {
        case .certificate: return certificate
        case .basic:
            let data = proof.flatMap { Data(base64Encoded: String($0.dropFirst("Basic ".count))) }
            return data.map {
                String(decoding: $0.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
            }
        case .digest:
            return ["anna", "bert"].first { proof?.contains("username=\"\($0)\"") ?? false }
        case .bearer, .apiKey, .signature:
            return proof?.split(separator: " ").last.map(String.init)
        }
    }
}

/// A gate of a user's: another signature for each request.
private struct Signature: SynchronousRequestAdapter {
    let name: String

    func adapt(_ request: inout Request, context: Context) {
        request.headers[.authorization] = "Signature \(context.id) \(name)"
    }
}

private enum Place: CaseIterable { case inside, outside }

/// A transport whose connections show a certificate.
private struct Certified: Transport {
    let wrapped: MockTransport
    let provesClient: Bool

    var capabilities: TransportCapabilities { wrapped.capabilities }
    func send(_ request: Request, context: Context) async throws -> Response {
        try await wrapped.send(request, context: context)
    }
    func shutdown() async { await wrapped.shutdown() }
}

private enum Kind: CaseIterable {
    case memory, disk, unnamedDisk, shared

    func store(_ folder: TemporaryFolder) -> any CacheStore {
        switch self {
        case .memory: MemoryStore()
        case .disk, .unnamedDisk: DiskStore(directory: folder.path, writingAfter: nil)
        case .shared: TieredStore(MemoryStore(), SharedMemory())
        }
    }
}

/// A store that other services use too.
private final class SharedMemory: StoreInMemory {
    let store = MemoryStore()
    var isShared: Bool { true }
}

private let controls = [
    "private, max-age=60", "max-age=60", "max-age=60, s-maxage=30", "public, max-age=60",
]

@Suite("Whose responses are in a store that several services use")
struct PartitionTests {
    private static func cache(
        _ store: any CacheStore, _ kind: Kind, of name: String
    ) -> Cache {
        switch kind {
        case .memory, .unnamedDisk: Cache(state: CacheState(store: store), partition: nil)
        case .disk, .shared: Cache(store, partition: "service of \(name)")
        }
    }

    private static func client(
        _ cache: Cache, _ proof: Proof, _ place: Place, of name: String, _ control: String
    ) -> (Client, MockTransport) {
        let transport = MockTransport { request in
            guard let found = proof.name(in: request, certificate: name) else {
                return .status(
                    401,
                    headers: ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""])
            }
            return .ok(text: found, headers: ["Cache-Control": "\(control)"])
        }
        let gate = proof.gate(of: name).map { [$0] } ?? []
        let gates = place == .inside ? [cache] + gate : gate + [cache]
        return (
            Client(
                baseURL: "http://a.example/",
                transport: Certified(wrapped: transport, provesClient: proof == .certificate),
                stack: Stack(gates),
                serializers: SerializerTable(), timeSource: ManualClock()), transport
        )
    }

    @Test(
        "No service gets what another one may see, whoever adds the proof, and wherever it is kept",
        arguments: Proof.allCases, Kind.allCases)
    fileprivate func services(proof: Proof, kind: Kind) async throws {
        for place in Place.allCases {
            // Outside, the origin's word decides what is for everybody in one partition.
            let isOne = place == .outside && (kind == .memory || kind == .unnamedDisk)
            for control in controls where !isOne || !control.contains("public") {
                let folder = TemporaryFolder()
                let store = kind.store(folder)
                for name in ["anna", "bert", "anna"] {
                    let cache = Self.cache(store, kind, of: name)
                    let (client, _) = Self.client(cache, proof, place, of: name, control)
                    for _ in 0..<2 {
                        let text = try await client.get("me").serialize(with: Text())
                        #expect(text == name, "\(proof), \(place), \(kind): \(control)")
                    }
                    await client.shutdown()
                }
            }
        }
    }

    @Test(
        "Two clients with one cache in memory get what they may see",
        arguments: Proof.allCases, Place.allCases)
    fileprivate func clients(proof: Proof, place: Place) async throws {
        for control in controls where place == .inside || !control.contains("public") {
            let cache = Cache()
            for name in ["anna", "bert"] {
                let (client, transport) = Self.client(cache, proof, place, of: name, control)
                for _ in 0..<2 {
                    let text = try await client.get("me").serialize(with: Text())
                    #expect(text == name, "\(control)")
                }
                if proof == .bearer { #expect(transport.sentCount == 1) }
                await client.shutdown()
            }
        }
    }

    @Test("Behind a transport that does not say what it proves, each client has its own part")
    func silentTransport() async throws {
        struct Silent: Transport {
            let wrapped: MockTransport
            var capabilities: TransportCapabilities { wrapped.capabilities }
            func send(_ request: Request, context: Context) async throws -> Response {
                try await wrapped.send(request, context: context)
            }
            func shutdown() async { await wrapped.shutdown() }
        }
        let (cache, mock) = (
            Cache(), MockTransport { _ in .ok(text: "x", headers: ["Cache-Control": "max-age=60"]) }
        )
        for transport in [Silent(wrapped: mock), mock] as [any Transport] {
            for _ in 0..<2 {
                let client = Client(
                    baseURL: "http://a.example/", transport: transport, stack: [cache],
                    serializers: SerializerTable(), timeSource: ManualClock())
                for _ in 0..<2 { _ = try await client.get("me").serialize(with: Text()) }
            }
        }
        #expect(mock.sentCount == 3)
    }

    @Test("Replicas with the same partition, and later processes, find what was stored")
    func replicas() async throws {
        for kind in [Kind.disk, .shared] {
            let folder = TemporaryFolder()
            let store = kind.store(folder)
            var sent = 0
            for _ in 0..<3 {
                let cache = Self.cache(store, kind, of: "anna")
                let (client, transport) = Self.client(
                    cache, .bearer, .inside, of: "anna", "private, max-age=60")
                #expect(try await client.get("me").serialize(with: Text()) == "anna")
                sent += transport.sentCount
                await client.shutdown()
            }
            #expect(sent == 1)
        }
    }

    @Test("A folder without a partition serves later processes where nothing proves the client")
    func folder() async throws {
        let folder = TemporaryFolder()
        let proof: [any Gate] = [BearerAuthentication(BearerTokens(BearerToken("anna")))]
        let cases: [(outside: [any Gate], inside: [any Gate], sends: Int)] = [
            ([], [], 1), (proof, [], 1), ([], proof, 3),
        ]
        for (outside, inside, sends) in cases {
            var sent = 0
            for _ in 0..<3 {
                let cache = Self.cache(Kind.unnamedDisk.store(folder), .unnamedDisk, of: "")
                let transport = MockTransport { _ in
                    .ok(text: "x", headers: ["Cache-Control": "private, max-age=60"])
                }
                let client = Client(
                    baseURL: "http://a.example/", transport: transport,
                    stack: Stack(outside + [cache, Retry()] + inside),
                    serializers: SerializerTable(),
                    timeSource: ManualClock())
                #expect(try await client.get("me").serialize(with: Text()) == "x")
                sent += transport.sentCount
                await client.shutdown()
            }
            #expect(sent == sends)
        }
    }

    @Test("A client whose stack is replaced finds nothing of its former account")
    func replaced() async throws {
        let cache = Cache()
        let transport = MockTransport { request in
            .ok(
                text: request.headers[.authorization] ?? "",
                headers: ["Cache-Control": "private, max-age=60"])
        }
        func stack(_ name: String) -> Stack {
            [cache, BearerAuthentication(BearerTokens(BearerToken(name)))]
        }
        let client = Client(
            baseURL: "http://a.example/", transport: transport, stack: stack("anna"),
            serializers: SerializerTable(), timeSource: ManualClock())
        for name in ["anna", "bert"] {
            if name == "bert" { client.replace(stack: stack(name)) }
            for _ in 0..<2 {
                #expect(try await client.get("me").serialize(with: Text()) == "Bearer \(name)")
            }
        }
        #expect(transport.sentCount == 2)
    }

    @Test("A tenant, and what is for everybody, are those of a partition too")
    func tenants() async throws {
        let store = SharedMemory()
        var options = Cache.Options()
        options.tenant = { request, _ in request.headers["X-Tenant"] }
        for name in ["anna", "bert"] {
            let cache = Cache(store, partition: name, options: options)
            let (client, _) = Self.client(
                cache, .bearer, .inside, of: name, "public, max-age=60")
            for headers in [["X-Tenant": "t"], [:]] as [HTTPHeaders] {
                let call = client.request(.get, "me", headers: headers)
                #expect(try await call.serialize(with: Text()) == name)
            }
        }
    }

    @Test("With an empty partition nothing is stored, and the facts say so", arguments: ["", " "])
    func empty(partition: String) async throws {
        let cache = Cache(SharedMemory(), partition: partition)
        let (client, transport) = Self.client(
            cache, .bearer, .inside, of: "anna", "public, max-age=60")
        for _ in 0..<2 {
            #expect(try await client.get("me").serialize(with: Text()) == "anna")
        }
        #expect(transport.sentCount == 2)
        #expect(try await cache.list().isEmpty)
        #expect(cache.facts(for: nil)?.lacksPartition == true)
        #expect(Cache().facts(for: nil)?.lacksPartition == false)
    }
}
