// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import Testing
import Turnpike
import TurnpikeLogging
import TurnpikeTesting

/// All events of a request use the caller's logger and metadata provider.
@Suite("LoggerSink and its caller")
struct CallerTests {
    private let transport = MockTransport { _ in .stream([Data("ab".utf8), Data("cd".utf8)]) }

    @Test("Without a logger, the caller's current one is used")
    func current() async throws {
        let journal = Journal()
        let client = makeClient(transport, [.log(to: LoggerSink())])
        try await withLogger(journal.logger) { _ in
            try await withLogger(mergingMetadata: ["request.id": "r1"]) { _ in
                _ = try await client.get(anywhere).data()
            }
            _ = try await client.get(anywhere).data()
        }
        #expect(journal.lines.count == 2)
        #expect(journal.values("request.id") == ["r1"])
    }

    @Test("A body that is read in another task is logged for its caller")
    func otherTask() async throws {
        let mine = Journal(provider: Trace.provider)
        let others = Journal(provider: Trace.provider)
        let client = makeClient(transport, [.log(to: LoggerSink())])
        let response = try await Trace.$id.withValue("caller") {
            try await withLogger(mine.logger) { _ in try await client.get(anywhere).response() }
        }
        #expect(mine.lines == [])
        try await Task.detached {
            try await Trace.$id.withValue("reader") {
                try await withLogger(others.logger) { _ in
                    _ = try await response.body.collect(upTo: 100)
                }
            }
        }.value
        #expect(others.lines == [])
        #expect(mine.lines == ["info: HTTP request completed"])
        #expect(mine.values("trace_id") == ["caller"])
        #expect(mine.values("turnpike.body.end") == ["finished"])
    }

    @Test("A body that another task drops is logged for its caller")
    func droppedElsewhere() async throws {
        let journal = Journal(provider: Trace.provider)
        let client = makeClient(transport, [.log(to: LoggerSink(journal.logger))])
        let stream = AsyncStream<Response>.makeStream()
        try await Trace.$id.withValue("caller") {
            stream.continuation.yield(try await client.get(anywhere).response())
        }
        stream.continuation.finish()
        await Task.detached {
            await Trace.$id.withValue("dropper") { for await _ in stream.stream {} }
        }.value
        #expect(journal.values("turnpike.body.end") == ["dropped"])
        #expect(journal.values("trace_id") == ["caller"])
    }

    @Test("A caller without a trace does not get that of the task in which the body ends")
    func noTrace() async throws {
        let journal = Journal(provider: Trace.provider)
        let client = makeClient(transport, [.log(to: LoggerSink(journal.logger))])
        let response = try await client.get(anywhere).response()
        try await Trace.$id.withValue("reader") {
            _ = try await response.body.collect(upTo: 100)
        }
        #expect(journal.lines.count == 1)
        #expect(journal.values("trace_id") == [])
    }

    @Test("Handlers that keep their provider still show the caller's metadata")
    func otherHandlers() async throws {
        let one = Journal(provider: Trace.provider)
        let two = Journal()
        let multiplexed = Logger(label: "m") { _ in
            MultiplexLogHandler([one.handler, two.handler], metadataProvider: Trace.provider)
        }
        let shared = SharedHandler(one.handler)
        for logger in [multiplexed, Logger(label: "c") { _ in shared }] {
            let client = makeClient(transport, [.log(to: LoggerSink(logger))])
            let response = try await Trace.$id.withValue("caller") {
                try await client.get(anywhere).response()
            }
            try await Trace.$id.withValue("reader") {
                _ = try await response.body.collect(upTo: 100)
            }
        }
        #expect(one.values("trace_id") == ["caller", "caller"])
        #expect(two.values("trace_id") == ["caller"])
        #expect(shared.metadataProvider != nil, "a shared handler keeps its provider")
    }

    @Test("In the task of the caller, children of a multiplexer do not mix metadata")
    func children() async throws {
        let one = Journal(provider: Trace.provider)
        let two = Journal()
        let three = Journal(provider: Logger.MetadataProvider { ["child": "three"] })
        let logger = Logger(label: "m") { _ in
            MultiplexLogHandler([one.handler, two.handler, three.handler])
        }
        let client = makeClient(transport, [.log(to: LoggerSink(logger))])
        let response = try await Trace.$id.withValue("caller") {
            _ = try await client.get(anywhere).data()
            return try await client.get(anywhere).response()
        }
        #expect(one.values("trace_id") == ["caller"] && one.values("child") == [])
        #expect(two.lines.count == 1 && two.entries.first?.metadata["trace_id"] == nil)
        #expect(two.values("child") == [])
        #expect(three.values("child") == ["three"] && three.values("trace_id") == [])
        // In another task, the metadata is complete, but mixed.
        try await Trace.$id.withValue("reader") {
            _ = try await response.body.collect(upTo: 100)
        }
        for child in [one, two, three] {
            #expect(child.lines.count == 2)
            #expect(child.values("trace_id").last == "caller")
            #expect(child.values("child").last == "three")
        }
    }

    @Test("Passes that overlap keep their own callers")
    func overlapping() async throws {
        let journal = Journal(provider: Trace.provider)
        let client = makeClient(transport, [.log(to: LoggerSink(journal.logger))])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await Trace.$id.withValue("\(number)") {
                        _ = try await client.get("http://a.example/\(number)").data()
                    }
                }
            }
            try await group.waitForAll()
        }
        let pairs = journal.entries.map { entry in
            (entry.metadata["trace_id"]?.description, entry.metadata["url.full"]?.description)
        }
        #expect(pairs.count == 50)
        for (trace, url) in pairs { #expect(url == "http://a.example/\(trace ?? "none")") }
    }
}

// SAFETY: the members are written only before the object is shared.
/// A handler that several loggers share, which swift-log advises against.
private final class SharedHandler: LogHandler, @unchecked Sendable {
    private let inner: InMemoryLogHandler
    var metadataProvider: Logger.MetadataProvider?
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(_ inner: InMemoryLogHandler) {
        self.inner = inner
        metadataProvider = inner.metadataProvider
    }

    func log(event: LogEvent) { inner.log(event: event) }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}
