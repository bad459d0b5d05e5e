// SPDX-License-Identifier: Apache-2.0

import CurlLoop
import Foundation

/// One client under one workload, in its own process.
///
/// Each client first sends for half a second without being measured, and then continues on the same
/// connections. There is no such warm-up if the number of requests is fixed.
struct PeerRun {
    static let subcommand = "run"
    private static let warmUp = 0.5

    let peer: Peer
    let workload: Workload
    let url: URL
    let authority: String
    let seconds: Double

    init(_ arguments: [String]) throws {
        guard arguments.count == 5, let url = URL(string: arguments[2]),
            let seconds = Double(arguments[4])
        else { throw PeerError("usage: peers \(Self.subcommand) CLIENT WORKLOAD URL CA SECONDS") }
        peer = try Peer.named(arguments[0])
        workload = try Workload.named(arguments[1])
        self.url = url
        authority = arguments[3]
        self.seconds = seconds
    }

    func run() async throws {
        let sample =
            switch peer {
            case .libcurl: try libcurl()
            case .wrk: try Wrk(workload: workload, url: url.absoluteString, seconds: seconds).run()
            default: try await swift()
            }
        print(String(decoding: try JSONEncoder().encode(sample), as: UTF8.self))
    }

    private func swift() async throws -> Sample {
        let sender = try peer.sender(workload, url, authority: authority)
        if workload.count == 0 { _ = try await load(sender, seconds: Self.warmUp) }
        let cpu = Usage.cpuSeconds()
        let begin = ContinuousClock.now
        let latencies = try await load(sender, seconds: seconds)
        return Sample(
            workload, latencies: latencies, seconds: (ContinuousClock.now - begin) / .seconds(1),
            cpu: Usage.cpuSeconds() - cpu)
    }

    private func load(_ sender: Sender, seconds: Double) async throws -> [Double] {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        let workload = workload
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            let caller: @Sendable () async throws -> [Double] = {
                var latencies: [Double] = []
                var now = clock.now
                while workload.count > 0 ? latencies.count < workload.count : now < end {
                    let count = try await sender.send()
                    let after = clock.now
                    guard count == workload.bytes else {
                        throw PeerError("\(count) bytes came instead of \(workload.bytes)")
                    }
                    latencies.append((after - now) / .microseconds(1))
                    now = after
                }
                return latencies
            }
            for _ in 0..<workload.concurrency {
                // A task executor preference of nil would cost a lock at each switch of a task.
                if let executor = sender.executor {
                    group.addTask(executorPreference: executor, operation: caller)
                } else {
                    group.addTask(operation: caller)
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func libcurl() throws -> Sample {
        let loop = try Libcurl(workload, url, authority: authority)
        if workload.count == 0 { _ = try loop.run(seconds: Self.warmUp) }
        let cpu = Usage.cpuSeconds()
        let begin = ContinuousClock.now
        let latencies = try loop.run(seconds: seconds, count: workload.count)
        return Sample(
            workload, latencies: Array(latencies),
            seconds: (ContinuousClock.now - begin) / .seconds(1), cpu: Usage.cpuSeconds() - cpu)
    }
}

/// The C loop around libcurl's multi interface.
struct Libcurl {
    private let loop: OpaquePointer

    /// Whether libcurl is installed.
    static var isInstalled: Bool { dlopen("libcurl.so.4", RTLD_NOW) != nil }

    init(_ workload: Workload, _ url: URL, authority: String) throws {
        let loop = url.absoluteString.withCString { url in
            authority.withCString { authority in
                var job = curl_loop_job(
                    url: url, authority: workload.isSecure ? authority : nil,
                    concurrency: Int32(workload.concurrency), post_bytes: workload.postBytes,
                    expected: Int64(workload.bytes))
                return curl_loop_create(&job)
            }
        }
        guard let loop else { throw PeerError("there is no libcurl") }
        self.loop = loop
    }

    /// The latencies in microseconds; valid until the next run.
    func run(seconds: Double, count: Int = 0) throws -> UnsafeBufferPointer<Double> {
        let result = curl_loop_run(loop, seconds, count)
        if let fault = result.fault { throw PeerError("libcurl: " + String(cString: fault)) }
        return UnsafeBufferPointer(start: result.latencies, count: result.latency_count)
    }
}
