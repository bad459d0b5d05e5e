// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("ResponseBodyStorage")
struct ResponseBodyStorageTests {
    private struct Stop: Error {}

    /// A source of chunks that are there, and which notes how it was given up.
    private final class Source: ResponseBodySource {
        let cancels = Notes()
        private let chunks: Mutex<[Data]>

        init(_ texts: [String]) { chunks = Mutex(texts.map { Data($0.utf8) }) }

        func next() async -> Data? { chunks.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
        func cancel(_ reason: CancelReason) { cancels.add("\(reason.owner)") }
    }

    private let notes = Notes()

    private func storage(_ source: Source, length: Int64? = 3) -> ResponseBodyStorage {
        let storage = ResponseBodyStorage(.source(source), length: length, encodedLength: nil)
        storage.add(onEnd: { [notes] in
            if case .failed(let error) = $0.reason { return notes.add("\(error)/\($0.bytes)") }
            notes.add("\($0.reason)/\($0.bytes)")
        })
        return storage
    }

    private func text(_ storage: ResponseBodyStorage) async throws -> String? {
        try await storage.pull().map { String(decoding: $0, as: UTF8.self) }
    }

    private static let owners: [CancelReason.Owner] = [.task, .handle, .drop, .gate, .timeLimit]

    @Test(
        "The first reason ends it: the watchers, the source and the next pull hear of it",
        arguments: owners, 0...2)
    func firstReason(owner: CancelReason.Owner, pulls: Int) async throws {
        let source = Source(["ab", "c"])
        let storage = storage(source)
        for _ in 0..<pulls { _ = try await storage.pull() }
        let isOfGate = owner == .gate || owner == .timeLimit
        storage.cancel(
            isOfGate ? CancelReason(owner, error: Stop()) : CancelReason(owner))
        storage.cancel(.failed(ClientError(.tooLarge, "later")))
        let reason = isOfGate ? "Stop()" : owner == .drop ? "dropped" : "cancelled"
        #expect(notes.all == ["\(reason)/\([0, 2, 3][pulls])"])
        // A time limit that was first is to the source what any other gate is.
        #expect(source.cancels.all == ["\(owner == .timeLimit ? .gate : owner)"])
        for error in [
            await #expect(throws: (any Error).self) { try await storage.pull() },
            #expect(throws: (any Error).self) { try storage.checkCancellation() },
        ] {
            #expect(isOfGate ? error is Stop : error is CancellationError)
        }
    }

    @Test("A body that was read to its end cannot be given up", arguments: owners)
    func readToEnd(owner: CancelReason.Owner) async throws {
        let source = Source(["ab", "c"])
        let storage = storage(source)
        while try await storage.pull() != nil {}
        storage.cancel(CancelReason(owner, error: Stop()))
        #expect(notes.all == ["finished/3"])
        #expect(source.cancels.all.isEmpty)
        #expect(try await storage.pull() == nil)
        try storage.checkCancellation()
    }

    @Test("Watchers hear of each pull before its chunk, and of the end last")
    func watchers() async throws {
        let storage = storage(Source(["ab", "c"]))
        storage.add(onPull: { [notes] in notes.add("pull") })
        storage.add(onChunk: { [notes] in notes.add(String(decoding: $0, as: UTF8.self)) })
        while try await storage.pull() != nil {}
        _ = try await storage.pull()
        #expect(notes.all == ["pull", "ab", "pull", "c", "pull", "finished/3"])
        // Nothing comes any more, so only the end is told to those who are late.
        storage.add(onPull: { [notes] in notes.add("late pull") })
        storage.add(onEnd: { [notes] in notes.add("late \($0.bytes)") })
        _ = try await storage.pull()
        #expect(notes.all.suffix(2) == ["finished/3", "late 3"])
    }

    @Test("One reader can begin, unless there is nothing to read or it was given up unread")
    func begin() async throws {
        let begun = storage(Source(["abc"]))
        try begun.begin()
        expectError(.unsupported) { try begun.begin() }
        let read = storage(Source(["abc"]))
        while try await read.pull() != nil {}
        expectError(.unsupported) { try read.begin() }
        let empty = ResponseBodyStorage(data: Data())
        for _ in 0..<2 { try empty.begin() }
        let givenUp = storage(Source(["abc"]))
        givenUp.cancel(.failed(Stop()))
        try givenUp.begin()
        await #expect(throws: Stop.self) { try await givenUp.pull() }
    }

    @Test("A body that is let go of is dropped, and one without content is finished")
    func letGo() async {
        let ends: [(Int64?, String)] = [
            (nil, "dropped/0"), (3, "dropped/0"), (0, "finished/0"),
        ]
        for (length, end) in ends {
            let source = Source([])
            _ = storage(source, length: length)
            #expect(notes.all.last == end)
            #expect(source.cancels.all == ["drop"])
        }
        #expect(notes.all.count == 3)
    }

    @Test("What is left after a peek has the rest of the length; the watchers hear of both")
    func continued() async throws {
        let storage = storage(Source(["ab", "c"]))
        #expect(try await text(storage) == "ab")
        let rest = storage.continued()
        #expect(rest.length == 1)
        #expect(try await text(rest) == "c")
        #expect(try await text(rest) == nil)
        #expect(notes.all == ["finished/3"])
        let unknown = self.storage(Source(["ab"]), length: nil)
        #expect(unknown.continued().length == nil)
    }

    @Test("Of the deadlines for work on it the first one set counts, and only from its time on")
    func expiry() throws {
        let clock = ManualClock()
        let storage = ResponseBodyStorage(data: Data("abc".utf8))
        for seconds in [2, 1] {
            storage.expire(
                ResponseBodyExpiry(
                    deadline: clock.now.advanced(by: .seconds(seconds)), timeSource: clock,
                    fault: { ClientError(.deadlineExceeded, "after \(seconds) s") }))
        }
        clock.advance(by: .milliseconds(1999))
        try storage.checkCancellation()
        clock.advance(by: .milliseconds(1))
        let error = #expect(throws: ClientError.self) { try storage.checkCancellation() }
        #expect(error?.message == "after 2 s")
    }

    @Test("Bytes in memory are all there, and what came with them is known behind the end")
    func memory() async throws {
        let storage = ResponseBodyStorage(
            data: Data("abc".utf8), trailers: ["X-A": "1"], encodedLength: 9, encodedBytes: 9)
        #expect(storage.arrival == .complete && storage.isSettled && !storage.hasEnded)
        #expect(storage.length == 3 && storage.encodedLength == 9 && storage.encodedBytes == 9)
        // It has come, so no time limit ends it.
        storage.cancel(.expired(Stop()))
        #expect(storage.trailers.isEmpty)
        #expect(try await text(storage) == "abc")
        #expect(try await text(storage) == nil)
        #expect(storage.trailers["X-A"] == "1" && storage.hasEnded)
    }
}
