// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport

@testable import TurnpikeCore

@Suite("RequestBody")
struct RequestBodyTests {
    private func read(_ body: RequestBody) async throws -> Data {
        let reader = try body.open()
        var content = Data()
        while let chunk = try await reader.next() {
            #expect(!chunk.isEmpty)
            content.append(chunk)
        }
        return content
    }

    private func chunks(_ texts: String...) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
    }

    @Test("Data is read again and again")
    func data() async throws {
        let body = RequestBody.data(Data("abc".utf8))
        #expect(body.length == 3)
        for _ in 0..<2 { #expect(try await read(body) == Data("abc".utf8)) }
        #expect(body.isReplayable)
        #expect(RequestBody.data(Data()).isEmpty)
    }

    @Test("A file, or a range of it, is read through a link, in pieces")
    func file() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "f")
        let link = directory.appending(path: "l")
        let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        try content.write(to: file)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        #expect(try await read(.file(link)) == content)
        #expect(RequestBody.file(link).length == 200_000)
        #expect(try await read(.file(file, range: 10..<70_000)) == content[10..<70_000])
        for bad in [
            RequestBody.file(directory), .file(directory.appending(path: "no")),
            .file(file, range: 0..<200_001),
        ] {
            expectError(.upload) { try bad.open() }
        }
    }

    @Test("A file that shrinks while it is sent is an error")
    func shrinkingFile() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(count: 300_000).write(to: file)
        let reader = try RequestBody.file(file).open()
        _ = try await reader.next()
        try Data(count: 100_000).write(to: file)
        await expectError(.upload) { while try await reader.next() != nil {} }
    }

    @Test("A one-shot stream is sent once, a replayable one creates its sequence again")
    func streams() async throws {
        let once = RequestBody.stream { [self] in chunks("a", "", "b") }
        #expect(once.isReplayable)
        #expect(try await read(once) == Data("ab".utf8))
        #expect(!once.isReplayable)
        do {
            _ = try once.open()
            Issue.record("was opened twice")
        } catch ClientError.Code.bodyNotReplayable {}
        let again = RequestBody.stream(replayable: true) { [self] in chunks("a", "b") }
        for _ in 0..<2 { #expect(try await read(again) == Data("ab".utf8)) }
    }

    @Test("A stream that differs from its declared length is an error", arguments: [1, 5])
    func lengths(declared: Int64) async throws {
        let body = RequestBody.stream(length: declared) { [self] in chunks("ab", "c") }
        #expect(body.length == declared)
        await expectError(.upload) { try await read(body) }
    }

    @Test("A body that could not be created keeps its error")
    func catching() throws {
        struct Bad: Error {}
        let body = RequestBody.catching { throw Bad() }
        #expect(body.fault is Bad)
        #expect(throws: Bad.self) { try body.open() }
        #expect(RequestBody.catching { .text("x") }.fault == nil)
    }

    @Test("A body has segments of data and files, unless some of it is made while it is sent")
    func segments() throws {
        let path = URL(filePath: #filePath).resolvingSymlinksInPath()
        let file = RequestBody.file(path, range: 2..<5)
        let segments = try RequestBody.concatenating([.text("a"), file]).segments()
        guard case .data(let data) = segments?.first,
            case .file(let name, let range) = segments?.last
        else {
            Issue.record("\(String(describing: segments))")
            return
        }
        #expect(segments?.count == 2 && data == Data("a".utf8))
        #expect(name == path.path(percentEncoded: false) && range == 2..<5)
        let stream = RequestBody.stream { [self] in chunks("b") }
        #expect(try RequestBody.concatenating([file, stream]).segments() == nil)
        #expect(try RequestBody.text("a").followed(by: ["X-A": "1"]).segments() == nil)
        #expect(try RequestBody.empty.segments()?.isEmpty == true)
    }

    @Test("A part of a body is read from its offset, across data and ranges of files")
    func part() async throws {
        let path = URL(filePath: #filePath)
        let content = try Data(contentsOf: path)
        let body = RequestBody.concatenating([
            .data(Data("xxabc".utf8).dropFirst(2)), .file(path, range: 10..<30), .text("xyz"),
            .file(path),
        ])
        let whole = try await read(body)
        for range in [0..<0, 0..<2, 2..<4, 4..<23, 22..<25, 26..<60, 0..<Int64(whole.count)] {
            let part = try #require(body.part(range))
            let bytes = Int(range.lowerBound)..<Int(range.upperBound)
            #expect(part.length == range.count64 && part.canOpenAgain)
            #expect(try await read(part) == whole[bytes])
            let again = part.part(1..<max(range.count64, 1))
            if range.count64 > 1 {
                #expect(try await read(#require(again)) == whole[bytes].dropFirst())
            }
        }
        #expect(RequestBody.file(path, range: 3..<9, type: .json).part(1..<2)?.contentType == .json)
        let end = Int64(content.count)
        #expect(RequestBody.file(path).part(end..<end)?.length == 0)
        #expect(RequestBody.file(path).part(0..<(end + 1)) == nil && body.part(-1..<2) == nil)
        #expect(RequestBody.file(path.appending(path: "missing")).part(0..<0) == nil)
        let stream = RequestBody.stream(length: 3, replayable: true) { [self] in chunks("abc") }
        #expect(stream.part(0..<3) == nil)
        #expect(RequestBody.concatenating([.text("a"), stream]).part(0..<2) == nil)
        #expect(RequestBody.text("a").followed(by: ["X-A": "1"]).part(0..<1) == nil)
    }
}
