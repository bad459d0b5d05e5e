// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// What observers are told of a response that is given up, and when: the same over every transport.
///
/// The clock stands still but where the test moves it, so a time that is told is exact.
@Suite("Responses that are given up")
struct GivenUpResponseTests {
    enum Road: String, CaseIterable, Sendable {
        case mock, urlSession, curl
    }

    enum Content: String, CaseIterable, Sendable {
        case empty, small, large, chunked

        static let part = Data(repeating: 0x78, count: 100)

        func served(_ status: HTTPStatus, _ headers: HTTPHeaders = [:]) -> TestAnswer {
            switch self {
            case .empty: .status(status, headers: headers)
            case .small: .status(status, headers: headers, body: Self.part)
            case .large: .bytes(200_000, status: status, headers: headers)
            case .chunked:
                .chunked([Self.part, Self.part, Self.part], status: status, headers: headers)
            }
        }

        func mocked(_ status: HTTPStatus, _ headers: HTTPHeaders = [:]) -> MockResponse {
            switch self {
            case .empty: .status(status, headers: headers)
            case .small: .status(status, headers: headers, body: Self.part)
            case .large: .status(status, headers: headers, body: Data(count: 200_000))
            case .chunked:
                .stream([Self.part, Self.part, Self.part], status: status, headers: headers)
            }
        }
    }

    /// What one pass is told of the end of its response.
    struct Ending: Hashable, Sendable, CustomStringConvertible {
        var status: Int
        var reason: String
        var bytes: Int64
        // Since the pass began, by the log and by the measurement.
        var elapsed: Duration
        var duration: Duration?
        // In the timeline, since the client began.
        var bodyEnd: Duration?

        var description: String {
            "\(status) \(reason) \(bytes) bytes, after \(elapsed) and \(duration ?? .zero), ended at"
                + " \(bodyEnd ?? .seconds(-1))"
        }
    }

    /// A log and a measurement of each pass.
    final class Watch: RequestLogger, MetricsRecorder {
        private let told = Mutex<(endings: [Ending], order: [String])>(([], []))

        var endings: [Ending] { told.withLock { $0.endings } }
        var order: [String] { told.withLock { $0.order } }

        func log(_ event: CallEvent) {
            told.withLock { told in
                switch event.kind {
                case .sent: told.order.append("sent")
                case .retrying: told.order.append("retrying")
                case .redirecting: told.order.append("redirecting")
                case .bodyEnded(let end):
                    told.order.append("ended")
                    let bodyEnd = event.timeline.bodyEnd.map {
                        MonotonicInstant(nanoseconds: 0).duration(to: $0)
                    }
                    told.endings.append(
                        Ending(
                            status: event.status?.code ?? 0, reason: "\(end.reason)",
                            bytes: end.bytes, elapsed: event.elapsed, bodyEnd: bodyEnd))
                default: break
                }
            }
        }

        // Metrics stand outside of logs, so they hear of the end later.
        func record(_ measurement: CallMeasurement) {
            told.withLock { told in
                let index = told.endings.firstIndex { $0.duration == nil }
                if let index { told.endings[index].duration = measurement.duration }
            }
        }
    }

    private let server: TestServer
    private let clock = ManualClock()
    private let watch = Watch()
    private let wait = Duration.seconds(10)

    init() throws {
        server = try TestServer()
        clock.advance(by: .seconds(5))
    }

    private func client(
        _ road: Road, _ content: Content, _ answers: [(HTTPStatus, HTTPHeaders)], _ stack: Stack
    ) throws -> Client {
        let transport: any Transport
        switch road {
        case .mock:
            let turn = Mutex(0)
            transport = MockTransport { _ in
                let index = turn.withLock { turn in
                    defer { turn += 1 }
                    return turn
                }
                guard index < answers.count else { return .ok(text: "last") }
                return content.mocked(answers[index].0, answers[index].1)
            }
        case .urlSession: transport = URLSessionTransport()
        case .curl: transport = try CurlTransport()
        }
        let turn = Mutex(0)
        server.fallback(
            .handler { _ in
                let index = turn.withLock { turn in
                    defer { turn += 1 }
                    return turn
                }
                guard index < answers.count else { return .ok(text: "last") }
                return content.served(answers[index].0, answers[index].1)
            })
        return Client(
            baseURL: server.target, transport: transport, stack: stack,
            serializers: .standard, timeSource: clock)
    }

    // What a response of the content comes to when it is thrown away, and how much of it is read:
    // all of what is small, nothing of what says that it is large.
    private func thrown(_ content: Content, _ status: Int, at time: Duration) -> Ending {
        let (reason, bytes): (String, Int64) =
            switch content {
            case .empty: ("finished", 0)
            case .small: ("finished", 100)
            case .large: ("dropped", 0)
            case .chunked: ("finished", 300)
            }
        return Ending(
            status: status, reason: reason, bytes: bytes, elapsed: .zero, duration: .zero,
            bodyEnd: time)
    }

    @Test(
        "An attempt has ended before the wait for the next one", .timeLimit(.minutes(1)),
        arguments: Road.allCases, Content.allCases)
    func retried(road: Road, content: Content) async throws {
        let backoff = Backoff(base: wait, jitter: .none)
        let client = try client(
            road, content, [(503, [:])],
            [.retry(attempts: 2, backoff: backoff, budget: nil), watch])
        let call = Task { try await client.get("x").data() }
        try await clock.waitForTimer(in: wait)
        #expect(watch.endings == [thrown(content, 503, at: .seconds(5))])
        clock.advance(by: wait)
        #expect(try await call.value == Data("last".utf8))
        // The last one counts from its own start.
        #expect(
            watch.endings.last
                == Ending(
                    status: 200, reason: "finished", bytes: 4, elapsed: .zero, duration: .zero,
                    bodyEnd: .seconds(15)))
    }

    @Test(
        "A redirect has ended before the next hop is sent", .timeLimit(.minutes(1)),
        arguments: Road.allCases, Content.allCases)
    func redirected(road: Road, content: Content) async throws {
        let client = try client(
            road, content, [(302, ["Location": "/y"])], [.redirect(), watch])
        _ = try await client.get("x").data()
        #expect(watch.endings.first == thrown(content, 302, at: .seconds(5)))
        #expect(watch.order == ["sent", "ended", "sent", "ended"])
    }

    @Test(
        "A response that is refused has ended when the caller hears of it",
        .timeLimit(.minutes(1)), arguments: Road.allCases, Content.allCases)
    func refused(road: Road, content: Content) async throws {
        let client = try client(road, content, [(404, [:])], [.validate(), watch])
        let error = await #expect(throws: ClientError.self) { try await client.get("x").data() }
        let ending = try #require(watch.endings.first)
        if content == .large {
            // What the error shows is read, and some more.
            #expect(error?.responseBody.count == 4096)
            #expect(ending.reason == "dropped" && ending.bytes >= 4096)
            #expect(ending.duration == .zero && ending.bodyEnd == .seconds(5))
        } else {
            #expect(ending == thrown(content, 404, at: .seconds(5)))
        }
        #expect(watch.endings.count == 1)
    }

    @Test(
        "A response that is let go of has ended then", .timeLimit(.minutes(1)),
        arguments: Road.allCases, Content.allCases)
    func dropped(road: Road, content: Content) async throws {
        let client = try client(road, content, [(200, [:])], [watch])
        _ = try await client.get("x").response()
        var expected = thrown(content, 200, at: .seconds(5))
        // Where there was nothing to read, nothing was left unread.
        if content != .empty { (expected.reason, expected.bytes) = ("dropped", 0) }
        #expect(watch.endings == [expected])
    }
}
