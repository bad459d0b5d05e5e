// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCurl

/// Calls the service, and counts its answers.
final class Caller: Sendable {
    struct Span: Decodable, Sendable {
        let span: String
        let parent: String?
        let name: String
        let kind: String
        let milliseconds: Double?
        let attributes: [String: String]
    }

    struct Count: Sendable {
        /// All answers, to any request.
        var answers = 0
        /// Answers about cities, by status.
        var cities: [Int: Int] = [:]
        /// For each answer that came too late, by how much.
        var late: [Duration] = []
        /// Answers with an error because a client of the service was shut down.
        var cancelled = 0
        var failures: [String] = []
    }

    /// How long after its deadline an answer may come.
    ///
    /// A busy machine may take seconds. Without the deadline, an upstream that hangs would take
    /// half a minute.
    static let slack = Duration.seconds(10)

    private let client: Client
    private let state = Mutex(Count())

    init(_ url: URL) throws {
        // The stack never sends twice. The time limit only prevents a hang of the whole test.
        client = Client(
            baseURL: Target(url), transport: try CurlTransport(), stack: [.deadline(.seconds(90))])
    }

    var count: Count { state.withLock { $0 } }

    /// Asks for a city as a caller that waits for `deadline`.
    /// - Returns: The status; nil if there was no answer.
    @discardableResult
    func city(
        _ name: String, deadline: Duration = .seconds(2), traceparent: String? = nil
    ) async -> Int? {
        var headers: HTTPHeaders = [
            "X-Envoy-Expected-Rq-Timeout-Ms": "\(Int(deadline / .milliseconds(1)))"
        ]
        headers["traceparent"] = traceparent
        let start = ContinuousClock.now
        do {
            let response = try await client.request(
                .get, .path("cities/{name}", ["name": name]), headers: headers
            ).response()
            let content = try await response.body.collect(upTo: 65_536)
            let isCancelled = String(decoding: content, as: UTF8.self).contains("cancelled")
            let late = start.duration(to: .now) - deadline
            state.withLock { state in
                state.answers += 1
                state.cities[response.status.code, default: 0] += 1
                if late > Self.slack { state.late.append(late) }
                if isCancelled { state.cancelled += 1 }
            }
            return response.status.code
        } catch {
            state.withLock { $0.failures.append("\(error)") }
            return nil
        }
    }

    /// Asks for many cities, 32 at a time, until the count is reached or a request gets no answer.
    func cities(_ total: Int, named prefix: String = "city") async {
        await withTaskGroup(of: Int?.self) { group in
            var hasEnded = false
            for number in 0..<total {
                if number >= 32, await group.next() == .some(nil) { hasEnded = true }
                if hasEnded { break }
                // Some cities are requested several times, some only once.
                let name = number % 3 == 0 ? "\(prefix)-\(number)" : "\(number % 50)"
                group.addTask { await self.city(name) }
            }
        }
    }

    func figures() async throws -> Figures { Figures(try await text("metrics")) }

    func trace(_ id: String) async throws -> [Span] {
        try JSONDecoder().decode([Span].self, from: Data(try await text("traces/\(id)").utf8))
    }

    func close() async { await client.shutdown() }

    private func text(_ path: String) async throws -> String {
        let text = try await client.get(Target(path)).string()
        state.withLock { $0.answers += 1 }
        return text
    }
}
