// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Coalesce")
struct CoalesceTests {
    private let clock = ManualClock()

    private func client(_ coalesce: Coalesce, _ answer: MockResponse) -> (Client, MockTransport) {
        let transport = MockTransport { _ in answer.delayed(by: .seconds(1)) }
        return (Client(transport, clock: clock, [coalesce]), transport)
    }

    private func start(
        _ call: Call, _ count: Int, _ coalesce: Coalesce, answeredIn delay: Duration = .seconds(1)
    ) async throws -> [Task<String, any Error>] {
        var calls: [Task<String, any Error>] = []
        for _ in 0..<count {
            let before = coalesce.waiting
            calls.append(Task { try await call.serialize(with: Text()) })
            try await until("one more waiting caller") { coalesce.waiting != before }
        }
        // The first one's request is with the transport, whose answer waits for the clock. By its
        // time, for the timer of a deadline stands before it.
        try await clock.waitForTimer(in: delay)
        return calls
    }

    @Test("Identical requests are sent once, and all get the response")
    func shared() async throws {
        let coalesce = Coalesce()
        let (client, transport) = client(coalesce, .ok(text: "one"))
        let calls = try await start(client.get(anywhere), 5, coalesce)
        clock.advance(by: .seconds(1))
        for call in calls { #expect(try await call.value == "one") }
        #expect(transport.sentCount == 1)
        #expect(coalesce.waiting == 0)
        let later = try await start(client.get(anywhere), 1, coalesce)
        clock.advance(by: .seconds(1))
        _ = try await later[0].value
        #expect(transport.sentCount == 2, "an answer is not kept")
    }

    private static var guarded: Request {
        var request = Request(.get, anywhere)
        request.options.addressRule = .publicAddresses
        return request
    }

    @Test("A body limit of .max is allowed")
    func unbounded() async throws {
        let client = Client(MockTransport { _ in .ok(text: "x") }, [.coalesce(maxBody: .max)])
        #expect(try await client.get(anywhere).serialize(with: Text()) == "x")
    }

    @Test(
        "Fields that may identify a user or a request keep requests apart",
        arguments: [
            Request(.get, anywhere, headers: ["Authorization": "Bearer b"]),
            Request(.get, anywhere, headers: ["Cookie": "id=2"]),
            Request(.get, anywhere, headers: ["X-Api-Key": "2"]),
            Request(.get, anywhere, headers: ["Accept-Language": "de"]),
            Request(.get, anywhere, headers: ["Range": "bytes=0-1"]),
            Request(.head, anywhere), Request(.post, anywhere), Request(.delete, anywhere),
            Request(.get, "http://a.example/x?q=1"), Request(.get, "http://b.example/x"),
            Request(.query, anywhere, body: .text("content")), guarded,
        ])
    func apart(other: Request) async throws {
        let coalesce = Coalesce()
        let (client, transport) = client(coalesce, .ok(text: "x"))
        let calls = [Request(.get, anywhere), other].map { request in
            Task { try await client.request(request).response() }
        }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(1))
        for call in calls { _ = try await call.value }
        #expect(transport.sentCount == 2)
    }

    @Test(
        "Fields that identify the caller count, even if they were named as ignored",
        arguments: [
            ("Authorization", 2), ("Cookie", 2), ("X-Api-Key", 2), ("Private-Token", 2),
            ("Proxy-Authorization", 2), ("X-CSRF-Token", 1), ("X-Sequence", 1),
        ])
    func neverAcrossUsers(name: String, sent: Int) async throws {
        let field = HTTPHeaders.Name(name)
        let coalesce = Coalesce(ignoring: [field])
        let (client, transport) = client(coalesce, .ok(text: "x"))
        let calls = ["a", "b"].map { value in
            Task { try await client.get(anywhere).header(field, value).response() }
        }
        try await until("2 waiting callers") { coalesce.waiting >= 2 }
        try await clock.waitForTimers(sent)
        clock.advance(by: .seconds(1))
        for call in calls { _ = try await call.value }
        #expect(transport.sentCount == sent)
    }

    @Test("A call's own gates or options keep it apart; its trace does not")
    func ownGates() async throws {
        let coalesce = Coalesce()
        let (client, transport) = client(coalesce, .ok(text: "x"))
        let own = client.get(anywhere).through(SetHeaders(["Authorization": "Bearer b"]))
        let limited = client.get(anywhere).option(StreamingOption.self, false)
        let calls = [client.get(anywhere), own, own, limited].map { call in
            Task { try await call.response() }
        }
        try await clock.waitForTimers(4)
        let traced = Task { try await client.get(anywhere).header(.traceparent, "t").response() }
        try await until("4 waiting callers") { coalesce.waiting >= 4 }
        clock.advance(by: .seconds(1))
        for call in calls + [traced] { _ = try await call.value }
        #expect(transport.sentCount == 4)
    }

    @Test("A cancelled caller leaves alone, even the first one", arguments: [0, 1, 2])
    func detaching(leaver: Int) async throws {
        let coalesce = Coalesce()
        let (client, transport) = client(coalesce, .ok(text: "x"))
        let calls = try await start(client.get(anywhere), 3, coalesce)
        calls[leaver].cancel()
        await #expect(throws: CancellationError.self) { try await calls[leaver].value }
        #expect(coalesce.waiting == 2)
        clock.advance(by: .seconds(1))
        for (index, call) in calls.enumerated() where index != leaver {
            #expect(try await call.value == "x")
        }
        #expect(transport.sentCount == 1)
    }

    @Test("The last caller that leaves ends the exchange")
    func allLeave() async throws {
        let coalesce = Coalesce()
        let (client, transport) = client(coalesce, .ok(text: "x"))
        let calls = try await start(client.get(anywhere), 3, coalesce)
        for call in calls { call.cancel() }
        for call in calls { _ = try? await call.value }
        await client.shutdown()
        try await until("the end of the exchange") { clock.timerCount == 0 }
        #expect(transport.sentCount == 1)
    }

    @Test("Each caller keeps its own deadline")
    func deadlines() async throws {
        let coalesce = Coalesce()
        let transport = MockTransport { _ in .ok(text: "x").delayed(by: .seconds(5)) }
        let client = Client(transport, clock: clock, [.deadline(.seconds(60)), coalesce])
        let hasty = try await start(
            client.get(anywhere).deadline(.seconds(1)), 1, coalesce, answeredIn: .seconds(5))
        let patient = try await start(
            client.get(anywhere), 1, coalesce, answeredIn: .seconds(5))
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: ClientError.self) { try await hasty[0].value }
        #expect(error?.code == .deadlineExceeded)
        clock.advance(by: .seconds(4))
        #expect(try await patient[0].value == "x")
        #expect(transport.sentCount == 1)
    }

    @Test("All callers get the same error")
    func errors() async throws {
        let coalesce = Coalesce()
        let (client, transport) = client(coalesce, .connectionLost)
        let calls = try await start(client.get(anywhere), 3, coalesce)
        clock.advance(by: .seconds(1))
        for call in calls {
            let error = await #expect(throws: ClientError.self) { try await call.value }
            #expect(error?.code == .connection)
        }
        #expect(transport.sentCount == 1)
    }

    @Test("All callers get the trailer fields")
    func trailers() async throws {
        let coalesce = Coalesce()
        let answer = MockResponse.ok(text: "x").followed(by: ["X-Sum": "1"])
        let transport = MockTransport { _ in answer.delayed(by: .seconds(1)) }
        let client = Client(transport, clock: clock, [coalesce])
        let calls = (1...2).map { _ in
            Task {
                let response = try await client.get(anywhere).response()
                _ = try await response.body.collect(upTo: 10)
                return response.trailers
            }
        }
        try await until("2 waiting callers") { coalesce.waiting >= 2 }
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(1))
        for call in calls { #expect(try await call.value == ["X-Sum": "1"]) }
        #expect(transport.sentCount == 1)
    }

    @Test(
        "A body above the limit, or without an end, goes to the first caller alone",
        arguments: [
            MockResponse.stream(Array(repeating: Data("0123456789".utf8), count: 10)),
            .status(.ok, body: Data(repeating: 0x61, count: 100)),
            .stream([Data("data: x\n\n".utf8)], headers: ["Content-Type": "text/event-stream"]),
        ])
    func large(answer: MockResponse) async throws {
        let coalesce = Coalesce(maxBody: 50)
        let (client, transport) = client(coalesce, answer)
        let calls = try await start(client.get(anywhere), 3, coalesce)
        clock.advance(by: .seconds(1))
        let first = try await calls[0].value
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(1))
        for call in calls.dropFirst() { #expect(try await call.value == first) }
        #expect(transport.sentCount == 3)
    }

    @Test("Field values that only look the same keep requests apart")
    func canonicalEquivalence() async throws {
        let (client, transport) = client(Coalesce(), .ok(text: "x"))
        let calls = ["Jos\u{E9}", "Jose\u{301}"].map { user in
            let request = Request(.get, anywhere, headers: ["X-User": user])
            return Task { try await client.request(request).response() }
        }
        try await clock.waitForTimers(2)
        clock.advance(by: .seconds(1))
        for call in calls { _ = try await call.value }
        #expect(transport.sentCount == 2)
    }

    @Test("Only the rule of a policy lets calls share an exchange")
    func sharing() {
        var options = RequestOptions()
        options.addressRule = .publicAddresses
        #expect(options.allowSharing)
        options.addressRule = AddressRule.publicAddresses.and(.publicAddresses)
        #expect(options.allowSharing)
        options.addressRule = AddressRule.publicAddresses.and(AddressRule { _ in true })
        #expect(!options.allowSharing)
        options.addressRule = nil
        options.connectTarget = .host("a.example", port: 80)
        #expect(!options.allowSharing)
    }
}
