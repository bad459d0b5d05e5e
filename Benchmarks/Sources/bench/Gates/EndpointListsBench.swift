// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeEndpoints

/// The time of calls while a file with 10,000 endpoints is replaced every 100 ms.
///
/// Each file has 10,000 other endpoints than the previous one, which is the worst case. Writing and
/// reading the file takes CPU time from the calls. So the same calls are also measured with a file
/// that does not change.
enum EndpointListsBench {
    private static let count = 10_000
    private static let seconds = 10
    private static let callers = 4

    static func run(_ report: Report) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "endpoints-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "endpoints.json")
        // The contents are created before, so that little work remains.
        let files = (0..<2).map { Data(text(of: $0).utf8) }
        try files[0].write(to: file)
        for isReplaced in [false, true] {
            let times = try await measure(file, isReplaced ? files : [])
            let sorted = times.latencies.sorted()
            let part = { (part: Double) in sorted[Int(Double(sorted.count - 1) * part)] / 1e6 }
            report.line(
                [
                    ("bench", "endpoints"), ("case", isReplaced ? "replaced" : "still     "),
                    ("calls", .number(Double(sorted.count))),
                    ("lists", .number(Double(times.lists))), ("p50ms", .number(part(0.5))),
                    ("p999ms", .number(part(0.999))),
                ], "maxms", part(1), .atMost(50),
                [("residentMiB", .number(times.resident.rounded()))])
        }
    }

    private static func text(of round: Int) -> String {
        let endpoints = (0..<count).map {
            "{\"address\": \"10.\(round).\($0 / 250).\($0 % 250 + 1)\", \"port\": 80}"
        }
        return "{\"endpoints\": [\(endpoints.joined(separator: ", "))]}"
    }

    private static func measure(
        _ file: URL, _ files: [Data]
    ) async throws -> (latencies: [Double], lists: Int, resident: Double) {
        let transport = MockTransport(recordLimit: 0) { _ in .ok(text: "[]") }
        let client = Client(
            transport: transport,
            stack: [
                .endpoints(
                    for: "users.internal", from: .file(file.path(), interval: .milliseconds(50)))
            ])
        _ = try await client.get("http://users.internal/").data()
        let end = ContinuousClock.now + .seconds(seconds)
        let lists = Mutex(0)
        let latencies = try await withThrowingTaskGroup(of: [Double].self) { group in
            for _ in 0..<callers {
                group.addTask { try await call(client, until: end) }
            }
            var number = 0
            while ContinuousClock.now < end, !files.isEmpty {
                try await Task.sleep(for: .milliseconds(100))
                number += 1
                try files[number % 2].write(to: file, options: .atomic)
                lists.withLock { $0 += 1 }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        await client.shutdown()
        return (latencies, lists.withLock { $0 }, resident)
    }

    private static func call(
        _ client: Client, until end: ContinuousClock.Instant
    ) async throws -> [Double] {
        var latencies: [Double] = []
        while true {
            let begin = ContinuousClock.now
            if begin >= end { return latencies }
            _ = try await client.get("http://users.internal/").data()
            latencies.append((ContinuousClock.now - begin) / .nanoseconds(1))
            // The pauses leave half of the machine for the lists.
            try await Task.sleep(for: .microseconds(500))
        }
    }

    /// The resident memory in MiB; 0 if `/proc` does not contain it.
    private static var resident: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
        return (kibibytes ?? 0) / 1024
    }
}
