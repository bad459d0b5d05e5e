// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeDownloads

/// One flood and its figures.
struct FloodRun {
    private let options: FloodOptions
    private let client: Client

    init(_ options: FloodOptions, server: URL) throws {
        self.options = options
        // The standard limits on the whole call, and on the time to a head, are too short for this.
        client = Client(
            baseURL: Target(server), transport: try options.transport.make(),
            stack: [.validate(), .retry(), .idleTimeout(), .limits()])
    }

    func run() async throws -> JSONValue {
        let begin = ContinuousClock.now
        // What the program itself holds, its code above all, differs from build to build.
        let atStart = Self.resident("VmRSS")
        let watch = TemporaryFileWatch()
        let bytes =
            switch options.mode {
            case .downSlow: try await download(upTo: options.bytes)
            case .downDrop: try await download(upTo: options.bytes / 8)
            case .download: try await downloadFile()
            case .upFile: try await withSparseFile { try await upload(.file($0)) }
            case .multipart: try await withSparseFile(uploadForm)
            case .upStream: try await uploadStream()
            case .serve: Int64(0)
            }
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        let peak = watch.end()
        let peakRSS = Self.resident("VmHWM")
        return [
            "program": "flood", "mode": .string(options.mode.rawValue),
            "transport": .string(options.transport.rawValue),
            "bytes": .number(JSONNumber(bytes)), "peakRSS": number(peakRSS),
            "heldMiB": number(peakRSS - atStart),
            "temporaryMiB": number(peak),
            "temporaryMiBLeft": number(await TemporaryFiles.settled()),
            "seconds": number(seconds),
        ]
    }

    private func download(upTo limit: Int64) async throws -> Int64 {
        let response = try await client.get("down?\(options.bytes)").response()
        var count: Int64 = 0
        var sincePause = 0
        for try await chunk in response.body {
            guard unsafe chunk.withUnsafeBytes({ unsafe $0.allSatisfy { $0 == 0x78 } }) else {
                throw FloodFailure("a byte is wrong behind byte \(count)")
            }
            count += Int64(chunk.count)
            sincePause += chunk.count
            if count >= limit { break }
            while sincePause >= 1 << 20 {
                try await Task.sleep(for: .milliseconds(options.pause))
                sincePause -= 1 << 20
            }
        }
        return count
    }

    private func downloadFile() async throws -> Int64 {
        let file = Self.temporaryFile
        defer { try? FileManager.default.removeItem(at: file) }
        let result = try await client.get("file?\(options.bytes)").download(to: .file(file))
        let handle = try FileHandle(forReadingFrom: file)
        let expected = Data(repeating: 0x78, count: 131_072)
        var count: Int64 = 0
        while let chunk = try handle.read(upToCount: expected.count), !chunk.isEmpty {
            guard chunk == expected.prefix(chunk.count) else {
                throw FloodFailure("a byte is wrong behind byte \(count)")
            }
            count += Int64(chunk.count)
        }
        guard result.bytes == count else {
            throw FloodFailure("\(count) bytes are there, and \(result.bytes) were told of")
        }
        return count
    }

    private func withSparseFile(_ send: (URL) async throws -> Int64) async throws -> Int64 {
        let file = Self.temporaryFile
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(options.bytes))
        try handle.close()
        return try await send(file)
    }

    private func uploadForm(_ file: URL) async throws -> Int64 {
        var form = MultipartFormData()
        form.append("flood", name: "name")
        form.append(file: file, name: "file", type: .octetStream)
        return Int64(try await client.post("up", multipart: form).string()) ?? 0
    }

    private static var temporaryFile: URL {
        FileManager.default.temporaryDirectory.appending(
            path: "turnpike-flood-" + UUID().uuidString)
    }

    private func uploadStream() async throws -> Int64 {
        try await upload(.stream { [options] in Chunks(left: options.bytes) })
    }

    private func upload(_ body: RequestBody) async throws -> Int64 {
        Int64(try await client.post("up", body: body).string()) ?? 0
    }

    private func number(_ value: Double) -> JSONValue {
        JSONNumber((value * 10).rounded() / 10).map(JSONValue.number) ?? .null
    }

    /// What is resident now (`VmRSS`), or was at most (`VmHWM`), in MiB.
    private static func resident(_ name: String) -> Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
    }
}

/// A body that is made in parts.
private struct Chunks: AsyncSequence, AsyncIteratorProtocol {
    var left: Int64

    func makeAsyncIterator() -> Self { self }

    mutating func next() async -> Data? {
        guard left > 0 else { return nil }
        let count = Int(Swift.min(left, 65_536))
        left -= Int64(count)
        return Data(repeating: 0x63, count: count)
    }
}
