// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Turnpike
import TurnpikeCache
import TurnpikeCurl

/// The cost of the cache.
///
/// Hits are compared with a bare call over a mock transport, and misses with a plain call over
/// loopback.
struct CacheBench {
    private let report: Report
    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "turnpike-bench-\(UInt32.random(in: 0...UInt32.max))")

    static func run(_ report: Report) async throws {
        let bench = CacheBench(report: report)
        defer { try? FileManager.default.removeItem(at: bench.folder) }
        try await bench.hits()
        try await bench.misses("", calls: 250, rounds: 61, bound: 1.1) { Client(stack: $0) }
        try await bench.misses("curl-", calls: 1000, rounds: 41, bound: nil) {
            Client(transport: try CurlTransport(), stack: $0)
        }
    }

    private init(report: Report) { self.report = report }

    // MARK: Hits

    private func hits() async throws {
        let bare = Client(transport: Self.transport(1024), stack: [])
        let memory = Client(transport: Self.transport(1024), stack: [.cache(MemoryStore())])
        let disk = Client(
            transport: Self.transport(65_536),
            stack: [.cache(DiskStore(directory: folder.path), partition: "bench")])
        let misses = Client(transport: Self.transport(1024), stack: [.cache(MemoryStore())])
        let clients = [bare, memory, disk, misses]
        let request = Request(.get, "http://example.com/users/1")
        var number = 0
        var times = clients.map { _ in [Double]() }
        for round in 0..<21 {
            for (index, client) in clients.enumerated() {
                let time = try await Self.measure(client, calls: 1000) { _ in
                    number += 1
                    return index == 3 ? Request(.get, "http://example.com/\(number)") : request
                }
                if round > 0 { times[index].append(time) }
            }
        }
        let base = median(times[0])
        line("mock-1k", median(times[0]), [])
        line("memory-hit-1k", median(times[1]), "ratio", median(times[1]) / base, .atMost(5))
        line("memory-miss-1k", median(times[3]), [("ratio", .number(median(times[3]) / base))])
        let perSecond = (1e9 / median(times[2])).rounded()
        line("disk-hit-64k", median(times[2]), "perSecond", perSecond, .atLeast(5000))
        for client in clients { await client.shutdown() }
    }

    private static func transport(_ bytes: Int) -> MockTransport {
        let content = Data(repeating: 0x61, count: bytes)
        return MockTransport(recordLimit: 0) { _ in
            .status(200, headers: ["Cache-Control": "max-age=3600"], body: content)
        }
    }

    // MARK: Misses

    // A round is longer than the delay of the disk store's writes. So the store writes during most
    // rounds, as it does during the calls of a program. The rest is written between rounds.
    private func misses(
        _ prefix: String, calls: Int, rounds: Int, bound: Double?,
        _ client: (Stack) throws -> Client
    ) async throws {
        let server = try ChildProcess.again([LoopbackServer.subcommand])
        defer { server.kill() }
        guard let url = server.readLine() else { throw BenchError("the server did not start") }
        let disk = DiskStore(directory: folder.appending(path: prefix + "misses").path)
        let clients = [
            ("call", try client([])), ("miss-memory", try client([.cache(MemoryStore())])),
            ("miss-disk", try client([.cache(disk, partition: "bench")])),
        ]
        var ratios = clients.map { _ in [Double]() }
        var times = clients.map { _ in [Double]() }
        var cpu = clients.map { _ in [Double]() }
        var number = 0
        for round in 0..<rounds {
            var turn = clients.map { _ in 0.0 }
            var used = turn
            for offset in clients.indices {
                // The order rotates, so that no client always runs after the same one.
                let index = (offset + round) % clients.count
                let before = Usage.cpuSeconds
                turn[index] = try await Self.measure(clients[index].1, calls: calls) { _ in
                    number += 1
                    return Request(.get, "\(url)fresh?\(number)")
                }
                // The next client must not pay for these writes.
                await disk.flush()
                used[index] = Usage.cpuSeconds - before
            }
            if round == 0 { continue }
            for index in clients.indices {
                times[index].append(turn[index])
                ratios[index].append(turn[index] / turn[0])
                cpu[index].append(used[index] / used[0])
            }
        }
        for (index, client) in clients.enumerated() {
            let (name, time) = (prefix + client.0, median(times[index]))
            let ratio = median(ratios[index])
            // The CPU time of this process, without the server, but with all writes.
            let used = ("cpuRatio", Report.Value.number(median(cpu[index])))
            if let bound, index > 0 {
                line(name, time, "ratio", ratio, .atMost(bound), [used])
            } else {
                line(name, time, [("ratio", .number(ratio)), used])
            }
            await client.1.shutdown()
        }
    }

    private func line(_ name: String, _ time: Double, _ more: [(String, Report.Value)]) {
        report.line(fields(name, time) + more)
    }

    private func line(
        _ name: String, _ time: Double, _ figure: String, _ value: Double, _ bound: Report.Bound,
        _ more: [(String, Report.Value)] = []
    ) {
        report.line(fields(name, time), figure, value, bound, more)
    }

    private func fields(_ name: String, _ time: Double) -> [(String, Report.Value)] {
        [("bench", "cache"), ("case", .text(name)), ("ns", .number(time.rounded()))]
    }

    private static func measure(
        _ client: Client, calls: Int, _ request: (Int) -> Request
    ) async throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        for number in 0..<calls {
            let response = try await client.request(request(number)).response()
            _ = try await response.body.collect(upTo: 1 << 20)
        }
        return Double((clock.now - start) / .nanoseconds(1)) / Double(calls)
    }
}
