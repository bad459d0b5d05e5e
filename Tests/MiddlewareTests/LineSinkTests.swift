// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport

@testable import TurnpikeMiddleware

@Suite("LineSink")
struct LineSinkTests {
    @Test("A log file is readable by its owner alone")
    func file() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let sink = try LineSink(appendingTo: path)
        sink.write("one")
        sink.write("two")
        await sink.flush()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "one\ntwo\n")
        let mode =
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
    }

    // A FIFO waits for its reader as long as it is opened in the plain way.
    @Test("A FIFO without a reader is refused, and one with a reader is written to")
    func fifo() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        #expect(unsafe mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: FileFault.self) { try LineSink(appendingTo: path) }
        let reader = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let handle = FileHandle(fileDescriptor: reader, closeOnDealloc: true)
        let sink = try LineSink(appendingTo: path)
        sink.write("one")
        await sink.flush()
        #expect(handle.availableData == Data("one\n".utf8))
    }

    @Test("A flush may have any time limit", arguments: [Int64.max, -1])
    func flushLimit(seconds: Int64) async throws {
        let pipe = Pipe()
        let sink = LineSink(flushLimit: .seconds(seconds), to: pipe.writer)
        sink.write("one")
        await sink.flush()
        while sink.waiting > 0 { await sink.flush() }
        try pipe.fileHandleForWriting.close()
        #expect(try pipe.fileHandleForReading.readToEnd() == Data("one\n".utf8))
    }

    @Test("The exit waits as long as a flush, and no longer once a flush has given up")
    func exit() async throws {
        let pipe = Pipe()
        let sink = LineSink(flushLimit: .milliseconds(20), to: pipe.writer)
        #expect(sink.flushAtExit().limit == .milliseconds(20))
        sink.write(String(repeating: "x", count: 1_000_000))
        await sink.flush()
        #expect(sink.flushAtExit().limit == .zero)
        let reader = Task {
            await Blocking.run { pipe.fileHandleForReading.readDataToEndOfFile() }
        }
        while sink.waiting > 0 { await Task.yield() }
        #expect(sink.flushAtExit().limit == .milliseconds(20))
        try pipe.fileHandleForWriting.close()
        #expect(await reader.value.count == 1_000_001)
    }

    @Test("What the exit waits for are the lines")
    func exitWrites() async throws {
        let pipe = Pipe()
        let sink = LineSink(to: pipe.writer)
        for _ in 0..<10 { sink.write("line") }
        let end = sink.flushAtExit().end
        #expect(await Blocking.run { end.wait(timeout: .now() + .seconds(60)) } == .success)
        #expect(sink.waiting == 0)
        #expect(
            pipe.fileHandleForReading.availableData
                == Data(String(repeating: "line\n", count: 10).utf8))
    }

    @Test("A line break in a value does not break the line")
    func forging() async throws {
        let pipe = Pipe()
        let sink = LineSink(to: pipe.writer)
        sink.write("one\ntwo\r\u{2028}\u{1B}[2J")
        await sink.flush()
        try pipe.fileHandleForWriting.close()
        let text = try pipe.fileHandleForReading.readToEnd() ?? Data()
        #expect(String(decoding: text, as: UTF8.self) == "one\\u{a}two\\u{d}\\u{2028}\\u{1b}[2J\n")
    }

    @Test("If nobody reads, lines are dropped and counted, and a flush gives up")
    func blocked() async throws {
        let pipe = Pipe()
        let sink = LineSink(capacity: 100, flushLimit: .milliseconds(20), to: pipe.writer)
        let line = String(repeating: "x", count: 4095)
        for _ in 0..<1000 { sink.write(line) }
        await sink.flush()
        let dropped = sink.dropped
        #expect(dropped > 800)
        // The queue moves on as soon as someone reads.
        let reader = Task { await Blocking.run { pipe.fileHandleForReading.readDataToEndOfFile() } }
        while true {
            let before = sink.dropped
            sink.write("last")
            if sink.dropped == before { break }
            await Task.yield()
        }
        let total = sink.dropped
        while await !settled(sink, pipe) {}
        let lines = String(decoding: await reader.value, as: UTF8.self).split(separator: "\n")
        #expect(lines.count { $0 == line } == 1000 - dropped)
        #expect(lines.last == "last")
        #expect(lines.compactMap(droppedCount).reduce(0, +) == total)
    }

    private func settled(_ sink: LineSink, _ pipe: Pipe) async -> Bool {
        await sink.flush()
        guard sink.waiting == 0 else { return false }
        try? pipe.fileHandleForWriting.close()
        return true
    }
}

extension Pipe {
    fileprivate var writer: @Sendable (Data) throws -> Void {
        let handle = fileHandleForWriting
        return { try handle.write(contentsOf: $0) }
    }
}

/// The count in a line that stands for dropped ones.
func droppedCount(_ line: Substring) -> Int? {
    guard line.hasSuffix(" lines dropped)") else { return nil }
    return Int(line.dropFirst().prefix { $0.isNumber })
}

@Suite("LineSink under load")
struct LineSinkConcurrencyTests {
    @Test("Every line is written whole or counted as dropped")
    func load() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let sink = try LineSink(appendingTo: path, capacity: 64)
        await withTaskGroup { group in
            for writer in 0..<8 {
                group.addTask {
                    for index in 0..<2000 {
                        sink.write("writer \(writer) line \(index) end")
                        if index % 500 == 0 { await sink.flush() }
                    }
                }
            }
        }
        await sink.flush()
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let notices = lines.compactMap(droppedCount)
        let whole = lines.filter { $0.hasPrefix("writer ") && $0.hasSuffix(" end") }
        #expect(whole.count + notices.count == lines.count)
        #expect(notices.reduce(0, +) == sink.dropped)
        #expect(whole.count + sink.dropped == 16_000)
        #expect(Set(whole).count == whole.count)
    }
}
