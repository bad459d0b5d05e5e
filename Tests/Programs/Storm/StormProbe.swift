// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeTesting

/// Measures, in the midst of the storm, how long after a cancellation the server sees the close.
///
/// Each lane has a server of its own and one request at a time, so that no close is taken for
/// another.
final class StormProbe: Sendable {
    private enum Kind: CaseIterable {
        /// The head is waited for.
        case head
        /// The body is being read.
        case body
        /// The content is on its way to a server that does not read it.
        case content
    }

    private let transport: any Transport
    private let seed: UInt64
    private let isOver = Atomic(false)
    private let kept = Mutex<[Double]>([])

    init(transport: any Transport, seed: UInt64) {
        self.transport = transport
        self.seed = seed
    }

    /// From `cancel()` to the close, in milliseconds.
    var times: [Double] { kept.withLock { $0 } }

    func stop() { isOver.store(true, ordering: .relaxed) }

    /// Runs until it is stopped.
    func run(lanes: Int = 8) async throws {
        try await withThrowingTaskGroup { group in
            for lane in 0..<lanes { group.addTask { try await self.run(lane: lane) } }
            try await group.waitForAll()
        }
    }

    private func run(lane: Int) async throws {
        let server = try TestServer(keepsRecord: false)
        defer { server.stop() }
        server.route("/head", .silence)
        server.route("/body", .endless(Data(count: 1024)))
        server.route("/content", .silence.withoutReading())
        let client = Client(baseURL: server.target, transport: transport, stack: [])
        var random = SeededGenerator(seed: seed &* 31 &+ UInt64(lane))
        var count = 0
        while !isOver.load(ordering: .relaxed) {
            let kind = Kind.allCases[count % Kind.allCases.count]
            let moment = Duration.microseconds(Int.random(in: 0...2000, using: &random))
            count += 1
            let time = try await probe(kind, client, server, number: count, moment)
            kept.withLock { $0.append(time) }
        }
    }

    private func probe(
        _ kind: Kind, _ client: Client, _ server: TestServer, number: Int, _ moment: Duration
    ) async throws -> Double {
        let task = Task { try await read(kind, client) }
        try await server.waitForRequests(number)
        try await Task.sleep(for: moment, tolerance: .zero)
        let begin = ContinuousClock.now
        task.cancel()
        try await server.wait { $0.abandoned >= number }
        let time = (ContinuousClock.now - begin) / .milliseconds(1)
        do {
            try await task.value
            throw StormFailure("a probe (\(kind)) came to its end")
        } catch is CancellationError {
            return time
        }
    }

    private func read(_ kind: Kind, _ client: Client) async throws {
        switch kind {
        case .head: try await client.get("head").empty()
        case .body: for try await _ in try await client.get("body").response().body {}
        case .content:
            let body = RequestBody.data(Data(repeating: 0x63, count: 8 << 20))
            try await client.post("content", body: body).empty()
        }
    }
}
