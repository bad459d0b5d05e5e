// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("CassetteTransport")
struct CassetteTests {
    private static let url: Target = "https://a.example/items"
    private let folder = CassetteFolder()

    @Test("A recording is replayed without a transport: head, content, several responses")
    func roundTrip() async throws {
        let turn = Atomic(0)
        let binary = Data((0...255).map { UInt8($0) })
        let (client, cassette, _) = try folder.recording { request in
            if request.method == .post {
                return .status(
                    201, headers: ["X-Kind": "binary", "Content-Type": "image/png"], body: binary)
            }
            return .ok(json: ["turn": .number(JSONNumber(turn.add(1, ordering: .relaxed).newValue))]
            )
        }
        for expected in 1...2 {
            #expect(try await client.get(Self.url).json()["turn"]?.int == expected)
        }
        #expect(try await client.post(Self.url, body: .json(["a": 1])).data() == binary)
        #expect(cassette.recordedCount == 3)
        let (again, replay) = try folder.replaying()
        #expect(try await again.get(Self.url).json()["turn"]?.int == 1)
        let posted = try await again.post(Self.url, body: .json(["a": 1])).response()
        #expect(posted.status == 201)
        #expect(posted.headers["X-Kind"] == "binary")
        #expect(try await posted.body.collect(upTo: 1000) == binary)
        #expect(try await again.get(Self.url).json()["turn"]?.int == 2)
        #expect(try await again.get(Self.url).json()["turn"]?.int == 2, "the last one again")
        try replay.verify()
        #expect(replay.replayedCount == 4)
    }

    @Test("A received field with a control character is replayed")
    func controlCharacters() async throws {
        let (client, _, _) = try folder.recording { _ in
            var headers = HTTPHeaders()
            headers.appendReceived("X-Bell", "a\u{7}b")
            return .ok(text: "x", headers: headers)
        }
        _ = try await client.get(Self.url).data()
        let (again, _) = try folder.replaying()
        #expect(try await again.get(Self.url).response().headers["X-Bell"] == "a\u{7}b")
    }

    @Test("The same exchanges give the same bytes")
    func sameBytes() async throws {
        var files: [String] = []
        for _ in 0..<2 {
            let clock = ManualClock()
            let (client, _, _) = try folder.recording(clock: clock) { request in
                .ok(text: request.url.path(), headers: ["X-B": "2", "X-A": "1"])
            }
            for path in ["one", "two"] {
                _ = try await client.get(Target("https://a.example/\(path)")).data()
                clock.advance(by: .milliseconds(1500))
            }
            files.append(try folder.text())
        }
        #expect(files[0] == files[1])
        #expect(files[0].contains(#""startedDateTime": "2023-11-14T22:13:21.500Z""#))
    }

    @Test("Exchanges are in the order in which they were sent, whichever ends first")
    func order() async throws {
        let hold = AsyncStream.makeStream(of: Void.self)
        let arrival = AsyncStream.makeStream(of: Void.self)
        let (client, cassette, _) = try folder.recording { request in
            if request.url.path() == "/first" {
                arrival.continuation.yield()
                for await _ in hold.stream {}
            }
            return .ok(text: request.url.path())
        }
        let first = client.get("https://a.example/first").start(.data)
        for await _ in arrival.stream { break }
        _ = try await client.get("https://a.example/second").data()
        #expect(try folder.entries().count == 1)
        hold.continuation.finish()
        _ = try await first.value
        #expect(cassette.recordedCount == 2)
        let urls = try folder.entries().map { $0["request"]?["url"]?.string }
        #expect(urls == ["https://a.example/first", "https://a.example/second"])
    }

    @Test("The mode record-missing sends only missing requests, and keeps the others")
    func missing() async throws {
        let (first, _, _) = try folder.recording { .ok(text: "old \($0.url.path())") }
        _ = try await first.get("https://a.example/a").data()
        let (client, cassette, mock) = try folder.recording(.recordMissing) {
            .ok(text: "new \($0.url.path())")
        }
        #expect(try await client.get("https://a.example/a").string() == "old /a")
        #expect(try await client.get("https://a.example/b").string() == "new /b")
        #expect(try await client.get("https://a.example/a").string() == "new /a", "used up")
        #expect(mock.sentCount == 2)
        #expect(cassette.recordedCount == 2 && cassette.replayedCount == 1)
        let (replay, _) = try folder.replaying()
        for expected in ["old /a", "new /a"] {
            #expect(try await replay.get("https://a.example/a").string() == expected)
        }
    }

    @Test("The mode record replaces the file at the first exchange; passing touches nothing")
    func anew() async throws {
        try folder.write("what no cassette can be")
        let (passing, _, sent) = try folder.recording(.pass) { _ in .ok(text: "x") }
        #expect(try await passing.get(Self.url).string() == "x")
        #expect(sent.sentCount == 1)
        let (client, _, _) = try folder.recording { _ in .ok(text: "y") }
        #expect(try folder.text() == "what no cassette can be")
        _ = try await client.get(Self.url).data()
        #expect(try folder.entries().count == 1)
    }

    @Test("The file is readable by its owner alone, and no other file is left")
    func file() async throws {
        let (client, cassette, _) = try folder.recording { _ in .ok(text: "x") }
        for _ in 0..<3 { _ = try await client.get(Self.url).data() }
        try cassette.save()
        let path = folder.file.path(percentEncoded: false)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
        let names = try FileManager.default.contentsOfDirectory(
            atPath: folder.url.path(percentEncoded: false))
        #expect(names == ["tape.har"])
    }

    @Test("A file that cannot be written is reported by the next request and by verify()")
    func unwritable() async throws {
        let inside = folder.file.appending(path: "tape.har")
        let mock = MockTransport { _ in .ok(text: "x") }
        let cassette = try CassetteTransport(file: inside, mode: .record, transport: mock)
        try folder.write("")
        let error = #expect(throws: ClientError.self) {
            try CassetteTransport(file: inside, mode: .record, transport: mock)
        }
        #expect(error?.code == .configuration)
        let client = Client(transport: cassette, stack: [])
        _ = try await client.get(Self.url).data()
        expectError(.download) { try cassette.verify() }
        await expectError(.download) { try await client.get(Self.url).data() }
        expectError(.download) { try cassette.save() }
    }

    @Test("Streams are recorded as they pass, and replayed in the same chunks")
    func streams() async throws {
        let chunks = ["one", "two", "three"].map { Data($0.utf8) }
        let (client, _, mock) = try folder.recording { _ in .stream(chunks) }
        let opened = Mutex(0)
        let body = RequestBody.stream(type: .octetStream) {
            opened.withLock { $0 += 1 }
            return AsyncStream<Data> { continuation in
                for part in ["up", "load"] { continuation.yield(Data(part.utf8)) }
                continuation.finish()
            }
        }
        let response = try await client.post(Self.url, body: body).response()
        #expect(try folder.entriesIfAny().isEmpty, "the head comes before the end of the content")
        #expect(try await response.body.collect(upTo: 100) == Data("onetwothree".utf8))
        #expect(opened.withLock { $0 } == 1)
        #expect(mock.sent.first?.body == Data("upload".utf8))
        #expect(try folder.entries()[0]["request"]?["postData"]?["text"] == "upload")
        let (replay, _) = try folder.replaying()
        var got: [String] = []
        let again = try await replay.post(
            Self.url, body: .data(Data("upload".utf8), type: .octetStream)
        ).response()
        for try await chunk in again.body { got.append(String(decoding: chunk, as: UTF8.self)) }
        #expect(got == ["one", "two", "three"])
    }

    @Test("Content that its reader left is recorded as far as it arrived, and fails there")
    func partial() async throws {
        let (client, _, _) = try folder.recording { _ in
            .stream([Data("event 1\n".utf8), Data("event 2\n".utf8)])
        }
        for try await _ in try await client.get(Self.url).response().body { break }
        let (replay, _) = try folder.replaying()
        var got = Data()
        let body = try await replay.get(Self.url).response().body
        let error = await #expect(throws: ClientError.self) {
            for try await chunk in body { got.append(chunk) }
        }
        #expect(error?.code == .incomplete)
        #expect(got == Data("event 1\n".utf8))
    }

    @Test("A request without a response, and content that broke off, are not recorded")
    func failures() async throws {
        let turn = Atomic(0)
        let (client, cassette, _) = try folder.recording(stack: [.retry(attempts: 3)]) { _ in
            switch turn.add(1, ordering: .relaxed).newValue {
            case 1: .connectionRefused
            case 2: .status(503, headers: ["Retry-After": "0"])
            default: .ok(text: "fine")
            }
        }
        async let text = client.get(Self.url).string()
        let clock = try #require(client.timeSource as? ManualClock)
        for _ in 0..<2 {
            try await clock.waitForTimers(1)
            clock.advanceToNextTimer()
        }
        #expect(try await text == "fine")
        #expect(cassette.recordedCount == 2)
        #expect(try folder.entries().map { $0["response"]?["status"]?.int } == [503, 200])
        let (breaking, broken, _) = try folder.recording { _ in
            .cut(after: Data("ab".utf8), of: 10)
        }
        await expectError(.incomplete) { try await breaking.get(Self.url).data() }
        #expect(broken.recordedCount == 0)
    }

    @Test("Content above the limit fails, instead of an incomplete recording")
    func tooLarge() async throws {
        let (client, _, _) = try folder.recording(options: CassetteOptions(maxBytes: 10)) {
            .ok(text: $0.method == .put ? "ten bytes!" : "eleven bytes")
        }
        #expect(try await client.put(Self.url, body: .text("ten bytes!")).data().count == 10)
        for body in [RequestBody.empty, .text("eleven bytes")] {
            let error = await #expect(throws: ClientError.self) {
                try await client.post(Self.url, body: body).data()
            }
            #expect(error?.code == .tooLarge)
        }
    }

    @Test("An expired exchange fails a replay, and is recorded again in its place")
    func expiry() async throws {
        let clock = ManualClock()
        let (client, _, _) = try folder.recording(clock: clock) {
            .ok(text: "old \($0.url.path())")
        }
        _ = try await client.get("https://a.example/a").data()
        clock.advance(by: .seconds(3600))
        _ = try await client.get("https://a.example/b").data()
        clock.advance(by: .seconds(1800))
        let options = CassetteOptions(expiry: .seconds(3600))
        let (replay, _) = try folder.replaying(options: options, clock: clock)
        let error = await #expect(throws: ClientError.self) {
            try await replay.get("https://a.example/a").data()
        }
        #expect(error?.message.contains("has expired; record it again") == true)
        #expect(try await replay.get("https://a.example/b").string() == "old /b")
        let (missing, _, mock) = try folder.recording(
            .recordMissing, options: options, clock: clock
        ) { .ok(text: "new \($0.url.path())") }
        #expect(try await missing.get("https://a.example/a").string() == "new /a")
        #expect(try await missing.get("https://a.example/b").string() == "old /b")
        #expect(mock.sentCount == 1)
        let texts = try folder.entries().map { $0["response"]?["content"]?["text"]?.string }
        #expect(texts == ["new /a", "old /b"])
    }

    @Test("The environment names the mode")
    func environment() throws {
        #expect(try CassetteTransport.Mode.fromEnvironment("TURNPIKE_NOT_SET") == .replay)
        #expect(CassetteTransport.Mode(rawValue: "record-missing") == .recordMissing)
        let error = #expect(throws: ClientError.self) {
            try CassetteTransport.Mode.fromEnvironment("PATH")
        }
        #expect(error?.code == .configuration)
    }

    @Test("A thousand concurrent calls are recorded, and each replayed with its own response")
    func many() async throws {
        let (client, cassette, _) = try folder.recording { .ok(text: $0.url.path()) }
        let response = try await client.get("https://a.example/0").response()
        _ = try await response.body.collect(upTo: 100)
        try await Self.thousand(client, expecting: 200)
        #expect(cassette.recordedCount == 201)
        let (replay, tape) = try folder.replaying()
        try await Self.thousand(replay, expecting: 1000)
        #expect(tape.replayedCount == 1000)
    }

    private static func thousand(_ client: Client, expecting count: Int) async throws {
        try await withThrowingTaskGroup { group in
            for index in 0..<count {
                group.addTask {
                    let path = "/\(index % 200)"
                    let text = try await client.get(Target("https://a.example\(path)")).string()
                    #expect(text == path)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("A cassette that was shut down responds to nothing")
    func shutdown() async throws {
        let (client, cassette, _) = try folder.recording { _ in .ok(text: "x") }
        await cassette.shutdown()
        let error = await #expect(throws: ClientError.self) {
            try await client.get(Self.url).data()
        }
        #expect(error?.code == .cancelled)
    }
}

extension CassetteFolder {
    /// The entries; none where there is no file.
    func entriesIfAny() throws -> [JSONValue] {
        FileManager.default.fileExists(atPath: file.path(percentEncoded: false))
            ? try entries() : []
    }
}
