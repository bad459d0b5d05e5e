// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryTracing
import Testing
import Tracing
import Turnpike
import TurnpikeTesting
import TurnpikeTracing

@Suite("The end of spans", .timeLimit(.minutes(5)))
struct EndTests {
    private let chunks = [Data("ab".utf8), Data("cd".utf8)]

    private func traced(failing error: (any Error)? = nil, status: HTTPStatus = .ok) -> Traced {
        Traced(MockTransport { [chunks] _ in .stream(chunks, status: status, thenThrow: error) })
    }

    private func expect(
        _ traced: Traced, _ type: String?, isError: Bool,
        at place: SourceLocation = #_sourceLocation
    ) {
        #expect(traced.tracer.activeSpans.isEmpty, sourceLocation: place)
        #expect(traced.tracer.finishedSpans.count == 2, sourceLocation: place)
        for span in traced.tracer.finishedSpans {
            #expect(span.errorType == type, sourceLocation: place)
            #expect(span.isError == isError, sourceLocation: place)
        }
    }

    @Test("Both end with the body, not with the head")
    func read() async throws {
        let traced = traced()
        let response = try await traced.client.get(anywhere).response()
        #expect(traced.tracer.activeSpans.count == 2)
        #expect(try await response.body.collect(upTo: 10).count == 4)
        expect(traced, nil, isError: false)
    }

    @Test("They end in whatever task reads the body, and are nobody else's parents there")
    func readElsewhere() async throws {
        let traced = traced()
        let response = try await traced.client.get(anywhere).response()
        let parent = await Task.detached {
            _ = try? await response.body.collect(upTo: 10)
            return ServiceContext.current
        }.value
        #expect(parent == nil)
        expect(traced, nil, isError: false)
    }

    @Test("A body that is let go of unread is no error")
    func dropped() async throws {
        let traced = traced()
        do { _ = try await traced.client.get(anywhere).response() }
        expect(traced, nil, isError: false)
    }

    @Test("A body that is let go of after an error status is one")
    func droppedError() async throws {
        let traced = traced(status: 500)
        do { _ = try await traced.client.get(anywhere).response() }
        expect(traced, "500", isError: true)
    }

    @Test("A body that breaks off is an error")
    func broken() async throws {
        let traced = traced(failing: ClientError(.incomplete, "it broke off"))
        await #expect(throws: ClientError.self) { try await traced.client.get(anywhere).data() }
        expect(traced, "incomplete", isError: true)
        #expect(traced.calls.first?.status?.message == "it broke off")
        #expect(traced.calls.first?.texts["http.response.status_code"] == "200")
    }

    @Test("A cancelled reader is told as cancelled, which is no error")
    func cancelledReader() async throws {
        let traced = traced()
        let response = try await traced.client.get(anywhere).response()
        response.body.cancel(.task)
        expect(traced, "cancelled", isError: false)
    }

    @Test("A call that is cancelled before its head is told as cancelled")
    func cancelledCall() async throws {
        let traced = Traced(MockTransport { _ in .ok().delayed(by: .seconds(3600)) })
        let call = Task { try await traced.client.get(anywhere).response() }
        try await traced.clock.waitForTimer(in: .seconds(3600))
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        expect(traced, "cancelled", isError: false)
    }

    @Test("A shutdown that names its own error is a cancellation")
    func shutdown() async throws {
        let traced = Traced(MockTransport { _ in .ok().delayed(by: .seconds(3600)) })
        let call = Task { try await traced.client.get(anywhere).response() }
        try await traced.clock.waitForTimer(in: .seconds(3600))
        await traced.client.shutdown(
            grace: .zero, cancellingWith: ClientError(.cancelled, "the end"))
        await #expect(throws: ClientError.self) { try await call.value }
        expect(traced, "cancelled", isError: false)
    }

    @Test("A deadline within the body ends both with its code")
    func deadline() async throws {
        let traced = Traced(
            MockTransport { _ in .stream([Data("ab".utf8)], every: .seconds(3600)) },
            [.deadline(.seconds(5))])
        let call = Task { try await traced.client.get(anywhere).data() }
        try await traced.clock.waitForTimer(in: .seconds(3600))
        traced.clock.advance(by: .seconds(5))
        await #expect(throws: ClientError.self) { try await call.value }
        expect(traced, "deadlineExceeded", isError: true)
    }

    @Test("A rejected response is an error with its status")
    func validation() async throws {
        let traced = Traced(MockTransport { _ in .status(422) }, [.validate()])
        await #expect(throws: ClientError.self) { try await traced.client.get(anywhere).data() }
        let call = try #require(traced.calls.first)
        #expect(call.errorType == "validation")
        #expect(call.texts["http.response.status_code"] == "422")
        #expect(traced.attempts.first?.errorType == "422")
        #expect(traced.tracer.activeSpans.isEmpty)
    }

    @Test("A response that is held unread keeps its spans open, also beyond the client's shutdown")
    func held() async throws {
        let traced = traced()
        var response: Response? = try await traced.client.get(anywhere).response()
        #expect(response?.status == .ok)
        let end = Task { await traced.client.shutdown() }
        try await traced.clock.waitForTimer(in: .seconds(1))
        traced.clock.advance(by: .seconds(1))
        await end.value
        #expect(traced.tracer.activeSpans.count == 2)
        response = nil
        expect(traced, nil, isError: false)
    }

    @Test("Of a thousand calls at once, each span ends, and in its own trace")
    func concurrency() async throws {
        let transport = MockTransport { request in
            request.headers.contains("X-Fail") ? .status(503) : .ok(text: "x")
        }
        let traced = Traced(transport)
        await withTaskGroup { group in
            for number in 0..<1000 {
                group.addTask {
                    let headers: HTTPHeaders = number % 3 == 0 ? ["X-Fail": "1"] : [:]
                    let call = traced.client.request(.get, anywhere, headers: headers)
                    if number % 2 == 0 {
                        _ = try? await call.response()
                    } else {
                        _ = try? await call.data()
                    }
                }
            }
        }
        #expect(traced.tracer.activeSpans.isEmpty)
        let calls = Dictionary(
            traced.calls.map { ($0.spanID, $0.traceID) }, uniquingKeysWith: { first, _ in first })
        #expect(calls.count == 1000 && traced.attempts.count == 1000)
        #expect(traced.attempts.allSatisfy { calls[$0.parentSpanID ?? ""] == $0.traceID })
    }
}
