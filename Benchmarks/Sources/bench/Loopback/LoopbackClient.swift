// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCurl

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One client under load, in its own process: `loopback-client KIND CONCURRENCY URL SECONDS`.
///
/// Each line of its input starts a turn of so many seconds. After the turn, it prints a line of
/// measurements.
struct LoopbackClient {
    static let subcommand = "loopback-client"

    enum Kind: String, CaseIterable {
        case raw = "urlsession-raw"
        case urlSession = "urlsession"
        case client
        case curl
        case curlStandard = "curl-standard"
    }

    private let concurrency: Int
    private let seconds: Double
    private let get: @Sendable () async throws -> Data

    init(_ arguments: [String]) throws {
        guard arguments.count == 4, let kind = Kind(rawValue: arguments[0]),
            let concurrency = Int(arguments[1]), let url = URL(string: arguments[2]),
            let seconds = Double(arguments[3])
        else { throw BenchError("usage: bench \(Self.subcommand) KIND CONCURRENCY URL SECONDS") }
        self.concurrency = concurrency
        self.seconds = seconds
        get = try Self.get(kind, url)
    }

    static func get(_ kind: Kind, _ url: URL) throws -> @Sendable () async throws -> Data {
        switch kind {
        case .raw:
            let session = URLSession(configuration: .default)
            let request = URLRequest(url: url)
            return { try await session.data(for: request).0 }
        case .urlSession:
            let client = Client(transport: URLSessionTransport(), stack: [])
            return { try await client.get(Target(url)).data() }
        case .client:
            let client = Client()
            return { try await client.get(Target(url)).data() }
        case .curl:
            let client = Client(transport: try CurlTransport(), stack: [])
            return { try await client.get(Target(url)).data() }
        case .curlStandard:
            let client = Client(transport: try CurlTransport())
            return { try await client.get(Target(url)).data() }
        }
    }

    func run() async throws {
        let expected = try await get()
        while readLine() != nil {
            let sample = try await turn(expecting: expected)
            print(String(decoding: try JSONEncoder().encode(sample), as: UTF8.self))
            fflush(nil)
        }
    }

    private func turn(expecting expected: Data) async throws -> LoopbackSample {
        let before = Usage.cpuSeconds
        let clock = ContinuousClock()
        let begin = clock.now
        let latencies = try await load(seconds: seconds, expecting: expected).sorted()
        let wall = (clock.now - begin) / .seconds(1)
        let count = Double(latencies.count)
        return LoopbackSample(
            rps: count / wall, cpuPer1000: (Usage.cpuSeconds - before) / count * 1000,
            p50us: latencies[latencies.count / 2], p99us: latencies[latencies.count * 99 / 100],
            peakRSS: Usage.peakRSS)
    }

    /// Sends requests until the time is over.
    /// - Returns: The latencies in microseconds.
    private func load(seconds: Double, expecting expected: Data) async throws -> [Double] {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            for _ in 0..<concurrency {
                group.addTask { [get] in
                    var latencies: [Double] = []
                    var now = clock.now
                    while now < end {
                        let data = try await get()
                        let after = clock.now
                        guard data.count == expected.count else {
                            throw BenchError(
                                "\(data.count) bytes came instead of \(expected.count)")
                        }
                        latencies.append((after - now) / .microseconds(1))
                        now = after
                    }
                    return latencies
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }
}
