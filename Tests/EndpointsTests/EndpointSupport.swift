// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

/// A resolver whose answers a test gives.
final class ScriptedResolver: EndpointResolver {
    typealias Answer = @Sendable (Int, Context) async throws -> EndpointList

    private let answer: Mutex<Answer>
    private let tally = Tally()

    init(_ answer: @escaping Answer) { self.answer = Mutex(answer) }

    /// A resolver with lists that hold for a second, the last of them again and again.
    convenience init(_ lists: [Endpoint]..., freshFor: Duration? = .seconds(1)) {
        self.init { number, _ in
            EndpointList(lists[min(number, lists.count) - 1], freshFor: freshFor)
        }
    }

    /// How often it was asked.
    var count: Int { tally.count }

    /// Answers otherwise from now on.
    func set(_ answer: @escaping Answer) { self.answer.withLock { $0 = answer } }

    func endpoints(in context: Context) async throws -> EndpointList {
        let number = tally.add()
        return try await answer.withLock { $0 }(number, context)
    }
}

extension Endpoint {
    /// The endpoint with a number.
    static func at(_ number: Int, zone: String? = nil) -> Endpoint {
        Endpoint("10.0.\(number / 250).\(number % 250 + 1)", port: 8080, zone: zone)
    }

    static func first(_ count: Int) -> [Endpoint] { (0..<count).map { .at($0) } }
}

extension Request {
    /// The number of the endpoint that it was sent to.
    var endpoint: Int? {
        guard case .host(let host, _) = options.connectTarget else { return nil }
        let parts = host.split(separator: ".").compactMap { Int($0) }
        return parts.count == 4 ? parts[2] * 250 + parts[3] - 1 : nil
    }
}

/// Servers whose answers depend on the endpoint, behind a transport that keeps what was sent.
final class EndpointServers: Sendable {
    private struct State {
        var answers: [Int: MockResponse] = [:]
        var requests: [Request] = []
    }

    private let state = Mutex(State())
    private let standard: MockResponse

    init(_ standard: MockResponse = .ok(text: "well")) { self.standard = standard }

    var transport: MockTransport {
        MockTransport(recordLimit: 0) { [self] in answer(to: $0) }
    }

    /// What was sent.
    var requests: [Request] { state.withLock { $0.requests } }

    /// The endpoints of all sends, in their order.
    var sent: [Int?] { requests.map(\.endpoint) }

    /// Gives endpoints an answer of their own.
    func set(_ endpoints: some Sequence<Int>, _ answer: MockResponse?) {
        state.withLock { state in
            for endpoint in endpoints { state.answers[endpoint] = answer }
        }
    }

    /// Waits until so many requests were sent.
    func waitForSends(_ count: Int) async throws {
        try await until("\(count) sent requests") { requests.count >= count }
    }

    private func answer(to request: Request) -> MockResponse {
        state.withLock { state in
            state.requests.append(request)
            return request.endpoint.flatMap { state.answers[$0] } ?? standard
        }
    }
}

extension Endpoints {
    /// The requests under way to all endpoints.
    var underWay: Int { members.reduce(0) { $0 + $1.underWay } }

    func standing(of number: Int) -> EndpointState? {
        members.first { $0.endpoint.target == Endpoint.at(number).target }?.health.standing
    }

    /// The numbers of the endpoints in a state.
    func numbers(_ standing: EndpointState) -> [Int] {
        members.indices.filter { members[$0].health.standing == standing }
    }
}

extension Client {
    /// Sends so many requests to the service, one after the other.
    func send(_ count: Int) async {
        for _ in 0..<count { _ = try? await get(service).serialize(with: Text()) }
    }
}

let service: Target = "http://users.internal/x"

/// A logger that keeps the notes of gates.
final class NoteLogger: RequestLogger {
    private let kept = Notes()
    var all: [String] { kept.all }

    func log(_ event: CallEvent) {
        if case .note(_, let message) = event.kind { kept.add(message) }
    }
}
