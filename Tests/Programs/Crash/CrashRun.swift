// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TurnpikeCache
import TurnpikeCore

/// The runs, and what is checked after each.
enum CrashRun {
    static func kill(count: Int) async throws -> CrashReport {
        let directory = try folder()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var report = CrashReport(mode: "kill")
        var random = SystemRandomNumberGenerator()
        for number in 0..<count {
            // The first has written something, however slow the machine is; others may be killed
            // while they open the folder.
            let child = try start(directory, seed: number, waits: number == 0)
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...250, using: &random)))
            try end(child)
            report.kills += 1
            try await check(directory, &report)
        }
        return report
    }

    static func share(seconds: Int) async throws -> CrashReport {
        let directory = try folder()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var report = CrashReport(mode: "share")
        let children = try [1, 2].map { try start(directory, seed: $0, waits: true) }
        let clock = ContinuousClock()
        let stop = clock.now.advanced(by: .seconds(seconds))
        while clock.now < stop {
            try await Task.sleep(for: .milliseconds(100))
            for child in children where !child.isRunning {
                throw CrashFailure(description: "a writer ended by itself")
            }
            try await check(directory, &report)
        }
        for child in children {
            try end(child)
            report.kills += 1
        }
        try await check(directory, &report)
        return report
    }

    private static func folder() throws -> String {
        let name = "turnpike-crash-\(UInt32.random(in: 0...UInt32.max))"
        let folder = FileManager.default.temporaryDirectory.appending(path: name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.path
    }

    private static func start(_ directory: String, seed: Int, waits: Bool) throws -> ChildProcess {
        let process = try ChildProcess(
            CommandLine.arguments[0],
            ["--mode", "write", "--directory", directory, "--seed", String(seed)], output: .pipe)
        // A line, once it has stored something; nothing where it has ended before.
        if waits { _ = process.output.availableData }
        return process
    }

    private static func end(_ process: ChildProcess) throws {
        guard process.isRunning else {
            throw CrashFailure(description: "a writer ended by itself")
        }
        process.kill()
        process.wait()
    }

    /// Opens the folder as a new process would, and reads all that is there.
    private static func check(_ directory: String, _ report: inout CrashReport) async throws {
        report.largest = max(report.largest, size(of: directory))
        let store = CrashWriter.store(directory)
        for listing in try await store.list() {
            let key = listing.response.key
            guard let entry = try await store.entry(for: key, where: { _ in true }),
                let number = Int(key.url.split(separator: "/").last ?? "")
            else { continue }
            let body = entry.content.body(0..<entry.content.length)
            let expected = CrashWriter.content(number, CrashWriter.version(entry.response))
            do {
                let content = try await body.collect(upTo: 4 << 20)
                if content != expected { report.wrong += 1 }
            } catch {
                // No process is to leave what fails its checksum, however it ends.
                report.wrong += 1
            }
            report.checked += 1
        }
    }

    private static func size(of directory: String) -> Int64 {
        let files = FileManager.default.enumerator(
            at: URL(filePath: directory), includingPropertiesForKeys: [.fileSizeKey])
        var total: Int64 = 0
        while let file = files?.nextObject() as? URL {
            let values = try? file.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
            if values?.isRegularFile ?? false { total += Int64(values?.fileSize ?? 0) }
        }
        return total
    }
}
