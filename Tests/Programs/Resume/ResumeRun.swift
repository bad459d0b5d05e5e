// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeSupport
import TurnpikeTesting

/// Downloads that are killed, and their figures.
final class ResumeRun: Sendable {
    private let options: ResumeOptions
    private let content: Data
    private let directory: URL
    private let ranges = Atomic(0)

    private var file: URL { directory.appending(path: "file") }

    init(_ options: ResumeOptions) throws {
        self.options = options
        // Blocks that differ by their number, of a length that no buffer has.
        var generator = SeededRandomSource(seed: options.seed).generator(forCall: 1)
        let block = Data((0..<65_500).map { _ in UInt8.random(in: 0...255, using: &generator) })
        var content = Data(capacity: options.mib << 20)
        while content.count < options.mib << 20 {
            unsafe withUnsafeBytes(of: content.count) { unsafe content.append(contentsOf: $0) }
            content.append(block)
        }
        self.content = content
        directory = FileManager.default.temporaryDirectory.appending(
            path: "turnpike-resume-" + UUID().uuidString, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func run() async throws -> JSONValue {
        let begin = ContinuousClock.now
        let server = try TestServer(keepsRecord: false)
        defer { server.stop() }
        server.route("/file", .handler { [self] in answer($0) })
        let url = server.url.appending(path: "file").absoluteString
        let digest = Self.digest(of: content)
        var generator = SeededRandomSource(seed: options.seed).generator(forCall: 2)
        var kills = 0
        var files = 0
        while kills < options.kills {
            let child = try ResumeChild(url, file)
            if try await strike(child, &generator) { kills += 1 }
            // One that was there before the kill is a whole one.
            if try isThere(digest) { files += 1 }
        }
        if try await ResumeChild(url, file).end() { throw ResumeFailure("the last was killed") }
        guard try isThere(digest) else { throw ResumeFailure("there is no file in the end") }
        return [
            "program": "resume", "kills": .number(JSONNumber(kills)),
            "files": .number(JSONNumber(files + 1)),
            "resumes": .number(JSONNumber(ranges.load(ordering: .relaxed))),
            "bytes": .number(JSONNumber(content.count)), "sha256": .string(digest),
            "seconds": JSONNumber((ContinuousClock.now - begin) / .seconds(1))
                .map(JSONValue.number) ?? .null,
        ]
    }

    /// Kills a process: mostly when a random number of bytes more have come, sometimes early.
    /// - Returns: Whether it was killed; not where it came to its end before.
    private func strike(
        _ child: ResumeChild, _ generator: inout some RandomNumberGenerator
    ) async throws -> Bool {
        let isEarly = UInt.random(in: 0..<8, using: &generator) == 0
        let step = Int64.random(
            in: 1...Int64(max(2 * content.count / options.kills, 1)), using: &generator)
        let wanted = received + step
        while !isEarly, child.isRunning, received < wanted {
            try await Task.sleep(for: .microseconds(500))
        }
        let delay = Int64.random(in: 0..<(isEarly ? 50_000 : 3000), using: &generator)
        try await Task.sleep(for: .microseconds(delay))
        child.kill()
        return try await child.end()
    }

    /// The bytes that lie beside the destination.
    private var received: Int64 {
        let files = FileManager.default
        let names = (try? files.contentsOfDirectory(atPath: directory.path())) ?? []
        return names.filter { $0.hasSuffix(".part") }.map { name -> Int64 in
            let attributes = try? files.attributesOfItem(
                atPath: directory.appending(path: name).path())
            return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        }.max() ?? 0
    }

    /// Looks whether the file is there, and right, and takes it away.
    private func isThere(_ digest: String) throws -> Bool {
        guard FileManager.default.fileExists(atPath: file.path()) else { return false }
        let found = Self.digest(of: try Data(contentsOf: file))
        guard found == digest else { throw ResumeFailure("the file is wrong: \(found)") }
        try FileManager.default.removeItem(at: file)
        return true
    }

    private func answer(_ request: ReceivedRequest) -> TestAnswer {
        let tag = "\"resume\""
        var first = 0
        if request.headers[.ifRange] == tag,
            let range = request.headers[.range]?.wholeMatch(of: /bytes=(\d+)-/)?.1
        {
            first = Int(range) ?? 0
        }
        var headers: HTTPHeaders = ["ETag": tag]
        if first >= content.count {
            headers[.contentRange] = "bytes */\(content.count)"
            return .status(416, headers: headers)
        }
        if first > 0 {
            ranges.add(1, ordering: .relaxed)
            headers[.contentRange] = "bytes \(first)-\(content.count - 1)/\(content.count)"
        }
        // Slow enough to be struck in the midst of it.
        return .drip(
            content[first...], bytes: 65_536, every: .milliseconds(1),
            status: first > 0 ? 206 : 200, headers: headers)
    }

    private static func digest(of data: Data) -> String {
        SHA256.digest(of: data).hexadecimal
    }
}
