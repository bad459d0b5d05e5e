// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Turnpike
import TurnpikeCache
import TurnpikeCore
import TurnpikeInspection
import TurnpikeTesting

private func cache(_ change: (inout Cache.Options) -> Void) -> any Gate {
    var options = Cache.Options()
    change(&options)
    return Cache(MemoryStore(), options: options)
}

// Makes it alone: its calls would leave the simulation.
private func session(_ change: (inout URLSessionTransport.Configuration) -> Void) {
    var configuration = URLSessionTransport.Configuration()
    change(&configuration)
    _ = URLSessionTransport(configuration: configuration)
}

private func traced(_ store: TraceStore, _ simulation: Simulation) async {
    let client = Client(
        transport: NumberRow.server(), stack: [Retry()], trace: store,
        timeSource: simulation.clock, randomSource: simulation.random)
    for _ in 0..<3 { _ = try? await client.get("http://a.example/").data() }
    _ = store.traces
}

extension NumberRow {
    static let storing: [NumberRow] = [
        .whole("Cache.Options.maxContentBytes") { value in
            cache { $0.maxContentBytes = Int64(value) }
        },
        .whole("Cache.Options.maxSharedBytes") { value in cache { $0.maxSharedBytes = value } },
        .time("Cache.Options.refreshLimit") { value in cache { $0.refreshLimit = value } },
        .time("Cache.Options.staleIfError") { value in cache { $0.staleIfError = value } },
        .time("Cache.Options.staleIfUnreachable") { value in
            cache { $0.staleIfUnreachable = value }
        },
        .whole("MemoryStore.maxBytes") { Cache(MemoryStore(maxBytes: $0)) },
        .whole("MemoryStore.maxEntryBytes") { Cache(MemoryStore(maxEntryBytes: $0)) },
        .whole("DiskStore.maxBytes") { value, simulation in
            let folder = TemporaryFolder()
            let store = DiskStore(directory: folder.path, maxBytes: Int64(value))
            try await call([Cache(store, partition: "test")], simulation)
        },
        .whole("DiskStore.maxEntryBytes") { value, simulation in
            let folder = TemporaryFolder()
            let store = DiskStore(directory: folder.path, maxEntryBytes: Int64(value))
            try await call([Cache(store, partition: "test")], simulation)
        },
        .time("TieredStore.frontLifetime") {
            Cache(TieredStore(MemoryStore(), MemoryStore(), frontLifetime: $0), partition: "test")
        },
    ]

    static let core: [NumberRow] = [
        .time("ClientError.retryAfter") { wait in
            Around { _, _, _ in throw ClientError(.overloaded, "full", retryAfter: wait) }
        },
        .whole("JSONReadingOptions.maxDepth") { value, _ in
            var options = JSONReadingOptions()
            options.maxDepth = value
            _ = try? JSONValue(parsing: Data("[[1]]".utf8), options: options)
        },
        .whole("JSONReadingOptions.maxNumberBytes") { value, _ in
            var options = JSONReadingOptions()
            options.maxNumberBytes = value
            _ = try? JSONValue(parsing: Data("[[1]]".utf8), options: options)
        },
        .real("TraceStore.sampling") { await traced(TraceStore(sampling: $0), $1) },
        .time("TraceStore.slowerThan") { await traced(TraceStore(slowerThan: $0), $1) },
        .whole("TraceStore.maxCalls") { await traced(TraceStore(maxCalls: $0), $1) },
        .whole("TraceStore.maxBytes") { await traced(TraceStore(maxBytes: $0), $1) },
        .whole("MockTransport.recordLimit") { value, _ in
            let mock = MockTransport(recordLimit: value) { _ in .ok() }
            _ = try? await Client(mock, clock: ManualClock(), []).get("http://a.example/").data()
        },
        .whole("SerializationContext.maxBytes") { value, _ in
            _ = SerializationContext(request: Request(.get, anywhere), maxBytes: value)
        },
        .whole("SerializationContext.maxLineBytes") { value, _ in
            _ = SerializationContext(request: Request(.get, anywhere), maxLineBytes: value)
        },
        .whole("Context.maxBytes") { value, _ in await limited { $0.maxBytes = value } },
        .whole("Context.maxLineBytes") { value, _ in await limited { $0.maxLineBytes = value } },
        .whole("Flow.pausing.highWater") { value, _ in _ = Flow.pausing(highWater: value) },
        .whole("Flow.pausing.lowWater") { value, _ in _ = Flow.pausing(lowWater: value) },
        .whole("Flow.spilling.memoryLimit") { value, _ in
            _ = Flow.spilling(memoryLimit: value, fileLimit: 1)
        },
        .whole("Flow.spilling.fileLimit") { value, _ in
            _ = Flow.spilling(fileLimit: Int64(value))
        },
        .whole("URLSessionTransport.Configuration.maxBufferedBytes") { value, _ in
            session { $0.maxBufferedBytes = value }
        },
        .whole("URLSessionTransport.Configuration.maxConnectionsPerHost") { value, _ in
            session { $0.maxConnectionsPerHost = value }
        },
        .whole("URLSessionTransport.Configuration.maxSpilledBytes") { value, _ in
            session { $0.maxSpilledBytes = Int64(value) }
        },
        .whole("URLSessionTransport.Configuration.maxSpooledBytes") { value, _ in
            session { $0.maxSpooledBytes = Int64(value) }
        },
        .whole("Call.pages.limit") { value, simulation in
            let client = Client(server(), clock: simulation.clock, [])
            let pages = client.get("http://a.example/").pages(of: [String].self, limit: value)
            var iterator = pages.makeAsyncIterator()
            for _ in 0..<3 { _ = try? await iterator.next() }
        },
    ]

    /// What tells a figure and is no setting, what a test is made of, and what a stack file gives to
    /// a store of another module.
    static let figures: Set<String> = [
        "CacheEntryBounds.disk", "CacheEntryBounds.memory", "CacheListing.length",
        "CacheUsage.bytes", "CacheUsage.entries", "CacheUsage.evictions",
        "Exchange.Head.encodedLength", "Exchange.Head.length", "UnownedBuffer.count",
        "HTTPStatus.code", "HTTPStatus.integerLiteral", "JSONNumber.value",
        "JSONValue.floatLiteral", "JSONValue.integerLiteral", "MediaType.quality",
        "MockLatency.constant.latency", "MockLatency.exponential.mean",
        "MockLatency.logNormal.median", "MockLatency.logNormal.p99", "MockResponse.cut.of",
        "MockResponse.stream.every", "MonotonicInstant.nanoseconds", "Origin.port",
        "Outcome.attempts", "Outcome.elapsed", "Outcome.previousDelay",
        "Query.Value.floatLiteral", "Query.Value.integerLiteral",
        "RequestBody.stream.length", "ResponseBody.length",
        "ResponseBody.encodedLength", "ServiceLimit.availableQuota",
        "ServiceLimit.effectiveWindow", "Timeline.bodyBytesReceived", "Timeline.bodyBytesSent",
        "Timeline.encodedBodyBytes", "TransferProgress.bytesReceived",
        "TransferProgress.bytesSent", "TransferProgress.totalToSend",
        "TransferProgress.totalToReceive", "TransferState.bodyBytesSent",
    ]
}

// A call whose content is read within what a gate sets.
private func limited(_ set: @escaping @Sendable (inout Context) -> Void) async {
    let mock = MockTransport { _ in .ok(text: "a line\nand another") }
    _ = try? await Client(mock, clock: ManualClock(), [Limited(set: set)])
        .get("http://a.example/").data()
}

private struct Limited: Interceptor {
    let set: @Sendable (inout Context) -> Void

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        var inner = context
        set(&inner)
        return try await next(request, context: inner)
    }
}
